package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve a model over HTTP", Args: cobra.NoArgs,
		Long: "Serve a model over HTTP until SIGINT or SIGTERM, then let open requests finish.\n" +
			"Without --model it serves the small embedded model.",
		Example: "  troupe serve\n  troupe serve --model ./Qwen2.5-0.5B-Instruct --port 8000\n  troupe serve --config configs/server.yaml --model DIR",
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c) },
	}
	configs.AddFlags(c.Flags())
	return c
}

func serve(c *cobra.Command) (err error) {
	start := time.Now()
	cfg, _, err := loadConfig(c)
	if err != nil {
		return err
	}
	ctx, log := c.Context(), newLogger(cfg)
	listeners, err := node.Listen(cfg)
	if err != nil {
		return err
	}
	defer listeners.Close()
	recording, err := node.OpenRecording(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recording.Close()) }()
	n, err := openNode(ctx, cfg, log)
	if err != nil {
		return err
	}
	n.Recording = recording
	defer func() { err = errors.Join(err, n.CloseInTime(ctx)) }()
	api := n.API()
	log.Info().Str("model", n.Name).Str("url", api.URL(listeners.API)).Str("device", n.Device.Info().Name).
		Int("context", n.Checkpoint.Program.Context).Int("kv_tokens", n.Plan.Tokens).Str("kv_dtype", n.KVDType.String()).
		Dur("took_ms", time.Since(start)).Msg("troupe is ready")
	if n.TemplateFault != nil {
		log.Warn().Err(n.TemplateFault).Msg("chat requests are refused: the model's chat template cannot be used")
	}
	if len(cfg.APIKey) == 0 && cfg.Host != "127.0.0.1" && cfg.Host != "localhost" && cfg.Host != "::1" {
		log.Warn().Str("host", cfg.Host).Msg("anyone who reaches this address can use the server; set api-key")
	}
	return n.Serve(ctx, api, listeners)
}
