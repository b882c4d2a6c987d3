// Package serve is `troupe serve`: it serves a model over HTTP until stopped.
package serve

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/telemetry"
)

func New() *cobra.Command {
	c := &cobra.Command{
		Use: "serve [MODEL]", Short: "Serve a model over HTTP", Args: cli.ModelArg,
		Long: "Serve a model over HTTP. On SIGINT or SIGTERM it finishes open requests and exits.\n" +
			"SIGHUP, or a change of the config file or of api-keys-file, reloads the settings that can change without a restart.\n" +
			"MODEL is a directory in Hugging Face format, a GGUF file, or a model on Hugging Face's hub, which is\n" +
			"downloaded once. Without it the small embedded model is served.\n\n" +
			"A hard limit is never exceeded. A soft limit can be exceeded for a short time, or where its text says so.",
		Example: "  troupe serve\n  troupe serve Qwen/Qwen2.5-0.5B-Instruct\n  troupe serve Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q8_0 --port 8000\n  troupe serve --config configs/server.yaml --model DIR",
		RunE:    func(c *cobra.Command, _ []string) error { return run(c) },
	}
	configs.AddFlags(c.Flags())
	return c
}

// run serves, and executes the process anew if an operator has asked for it.
func run(c *cobra.Command) error {
	err := serve(c)
	if errors.Is(err, node.ErrRestart) {
		return execute()
	}
	return err
}

func serve(c *cobra.Command) (err error) {
	start := time.Now()
	cfg, err := cli.Config(c)
	if err != nil {
		return err
	}
	ctx, level := c.Context(), &telemetry.LogLevel{}
	node.SetLogLevel(level, cfg)
	log := cli.Logger(cfg).Level(zerolog.DebugLevel).Sample(level)
	why, follow, stop := reasonsToReload(cfg, log)
	defer stop()
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
	fetching := cli.Fetching(log)
	early, err := startEarly(cfg, listeners, &fetching)
	if err != nil {
		return err
	}
	defer early()
	n, err := node.Open(ctx, node.Options{Fetching: fetching, CanRestart: canExecute, Config: cfg, Log: log, LogLevel: level, Version: c.Root().Version, API: node.APIURL(cfg, listeners), Progress: cli.LoadProgress()})
	if err != nil {
		return err
	}
	early()
	n.Recording = recording
	n.Reloads = node.Reloads{Why: why, Load: func() (*configs.Config, error) { return cli.Config(c) }, Applied: follow}
	defer func() { err = errors.Join(err, n.CloseInTime(ctx)) }()
	api := n.API()
	ready := log.Info()
	if listeners.Admin != nil {
		ready.Str("admin_url", "http://"+listeners.Admin.Addr().String())
	}
	ready.Str("url", api.URL(listeners.API))
	if k := &cfg.Cluster; k.On() {
		ready.Str("cluster", k.Name).Str("role", k.Role).Str("node", k.NodeName()).Str("cluster_address", n.ClusterAddress())
	}
	if n.Checkpoint != nil {
		ready.Str("model", n.Name).Str("device", n.Device.Info().Name).
			Int("context", n.Checkpoint.Program.Context).Int("engines", len(n.Models)).Int("kv_tokens", n.Plan.Tokens*len(n.Models)).Str("kv_dtype", n.KVDType.String())
	}
	ready.Dur("took_ms", time.Since(start)).Msg("troupe is ready")
	if n.TemplateFault != nil {
		log.Warn().Err(n.TemplateFault).Msg("chat requests will be refused: the model's chat template cannot be used")
	}
	if len(cfg.HTTP.APIKeys)+len(cfg.HTTP.Keys) == 0 && cfg.HTTP.Host != "127.0.0.1" && cfg.HTTP.Host != "localhost" && cfg.HTTP.Host != "::1" {
		log.Warn().Str("host", cfg.HTTP.Host).Msg("NO API KEY: the server is reachable from the network and anyone can use it; set api-key or api-keys-file, or listen on 127.0.0.1")
	}
	return n.Serve(ctx, api, listeners)
}

// startEarly answers on the API's address while the model is fetched and loaded, so that
// probes and people see how far it is.
func startEarly(cfg *configs.Config, l *node.Listeners, fetching *node.Fetching) (stop func(), err error) {
	early, err := httpapi.ServeEarly(l.API, cfg.HTTP)
	if err != nil {
		return nil, err
	}
	if cfg.Cluster.Role == configs.RoleGateway {
		early.Set(httpapi.Starting{Doing: "joining the cluster"})
	}
	show := fetching.Progress
	fetching.Progress = func(model string, p hub.Progress) {
		show(model, p)
		s := httpapi.Starting{Doing: "loading " + model}
		if p.File != "" {
			s = httpapi.Starting{Doing: "downloading " + model, Done: p.Done, Total: p.Total}
		}
		early.Set(s)
	}
	return early.Stop, nil
}

// reasonsToReload sends a reason for each SIGHUP and for each change of a file of the
// settings, until stop is called. follow takes over which files these are. Without it SIGHUP
// would end the process and all open requests.
func reasonsToReload(cfg *configs.Config, log zerolog.Logger) (why <-chan string, follow func(*configs.Config), stop func()) {
	reasons := make(chan string, 1)
	give := func(reason string) {
		select {
		case reasons <- reason:
		default: // a reload is pending
		}
	}
	unwatched := func(err error) {
		log.Warn().Err(err).Msg("cannot watch the settings for changes; send SIGHUP to reload them")
	}
	watches, err := cfg.Watch(func(what string) { give(what + " has changed") })
	if err != nil {
		unwatched(err)
		watches = &configs.Watches{}
	}
	follow = func(next *configs.Config) {
		if err := watches.Follow(next); err != nil {
			unwatched(err)
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	var listening sync.WaitGroup
	listening.Go(func() {
		for range signals {
			give("SIGHUP")
		}
	})
	return reasons, follow, func() {
		watches.Stop()
		signal.Stop(signals)
		close(signals)
		listening.Wait()
	}
}
