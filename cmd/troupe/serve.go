package main

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve a model over HTTP", Args: cobra.NoArgs,
		Long: "Serve a model over HTTP until SIGINT or SIGTERM, then let open requests finish.\n" +
			"SIGHUP is logged and has no other effect: settings are read at the start only.\n" +
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
	defer outliveHangups(log)()
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
	if len(cfg.HTTP.APIKeys) == 0 && cfg.HTTP.Host != "127.0.0.1" && cfg.HTTP.Host != "localhost" && cfg.HTTP.Host != "::1" {
		log.Warn().Str("host", cfg.HTTP.Host).Msg("anyone who reaches this address can use the server; set api-key")
	}
	return n.Serve(ctx, api, listeners)
}

// outliveHangups logs each SIGHUP until stop is called. Without it one would end
// the process, and with it every open request: a terminal sends one when it
// closes, and tools send one to have settings read again.
func outliveHangups(log zerolog.Logger) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	var logging sync.WaitGroup
	logging.Go(func() {
		for range signals {
			log.Info().Msg("SIGHUP has no effect: settings are read at the start only; restart to apply changes")
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		logging.Wait()
	}
}
