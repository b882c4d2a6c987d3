// Command troupe is an LLM serving engine with an OpenAI-compatible API. It also
// runs single prompts, chats in the terminal, measures, and shows the state of a server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/bench"
	"github.com/troupe-engine/troupe/cmd/troupe/chat"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/cluster"
	"github.com/troupe-engine/troupe/cmd/troupe/generate"
	"github.com/troupe-engine/troupe/cmd/troupe/health"
	"github.com/troupe-engine/troupe/cmd/troupe/inspect"
	"github.com/troupe-engine/troupe/cmd/troupe/keys"
	"github.com/troupe-engine/troupe/cmd/troupe/models"
	"github.com/troupe-engine/troupe/cmd/troupe/replay"
	"github.com/troupe-engine/troupe/cmd/troupe/serve"
	"github.com/troupe-engine/troupe/cmd/troupe/top"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// version and commit are set by the linker. Without them those that Go recorded are shown.
var version, commit = "", ""

func main() {
	checkAddressSpace()
	ctx := cli.WithSignals(context.Background())
	if err := newRoot().ExecuteContext(ctx); err != nil {
		switch {
		case errors.Is(err, cli.ErrSilent):
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			fmt.Fprintln(os.Stderr, "\ntroupe: interrupted")
		default:
			fmt.Fprintln(os.Stderr, "troupe:", logtext.Lines(err.Error()))
		}
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	return cli.Root(versionText(), append(models.New(), serve.New(), generate.New(), chat.New(), inspect.New(), replay.New(), bench.New(), top.New(), health.New(), cluster.New(), keys.New(), newVersion())...)
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

// commitText is the commit of the source, "unknown" if nothing recorded it.
func commitText() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return "unknown"
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version, the commit and the version of Go", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return cli.PrintJSON(c.OutOrStdout(), map[string]string{"version": versionText(), "commit": commitText(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "troupe %s (commit %s, %s)\n", versionText(), commitText(), runtime.Version())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
