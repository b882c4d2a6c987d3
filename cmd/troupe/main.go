// Command troupe is an LLM serving engine: it loads a model and serves an
// OpenAI-compatible API, runs single prompts, chats, and shows what is inside.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// version is set by the linker; a build without it shows what Go recorded.
var version = ""

func main() {
	checkAddressSpace()
	ctx := withSignals(context.Background())
	if err := newRoot().ExecuteContext(ctx); err != nil {
		switch {
		case errors.Is(err, errSilent):
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			fmt.Fprintln(os.Stderr, "\ntroupe: interrupted")
		default:
			fmt.Fprintln(os.Stderr, "troupe:", logtext.Lines(err.Error()))
		}
		os.Exit(1)
	}
}

// answering ends the answer that a chat is waiting for, if it is.
var answering atomic.Pointer[context.CancelFunc]

// withSignals ends the context at SIGTERM or SIGINT, and the process at the
// second one. An interrupt during a chat's answer ends only that answer.
func withSignals(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if stop := answering.Swap(nil); s == os.Interrupt && stop != nil {
				(*stop)()
				continue
			}
			if ctx.Err() != nil {
				os.Exit(1)
			}
			cancel()
		}
	}()
	return ctx
}

// errSilent ends with status 1 after the command has said why.
var errSilent = errors.New("failed")

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "troupe",
		Short: "A serving engine for language models: one binary, an OpenAI-compatible API",
		Long: "Troupe serves language models over an OpenAI-compatible API.\n\n" +
			"  troupe serve                     serve the embedded model on 127.0.0.1:30000\n" +
			"  troupe serve --model PATH        serve a Hugging Face model directory or a GGUF file\n" +
			"  troupe chat                      talk to a model in the terminal",
		SilenceUsage: true, SilenceErrors: true,
		Version: versionText(),
	}
	root.SetVersionTemplate("troupe {{.Version}}\n")
	root.PersistentFlags().String("config", "", "file with settings: YAML, TOML or JSON (or set TROUPE_CONFIG)")
	root.SetFlagErrorFunc(suggestFlag)
	root.AddCommand(newServe(), newGenerate(), newChat(), newInspect(), newReplay(), newBench(), newTop(), newVersion())
	return root
}

// suggestFlag adds the nearest flag to the error of a mistyped one, and says
// what a flag takes that was given something else.
func suggestFlag(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		return fmt.Errorf("--%s is %q, want %s", f.Name, invalid.GetValue(), configs.Wanted(f.Value.Type()))
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := configs.Nearest(name, names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, c.CommandPath())
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]string{"version": versionText(), "go": info.GoVersion})
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "troupe %s (%s)\n", versionText(), info.GoVersion)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
