// Package chat is `troupe chat`: a conversation with a model in the terminal.
//
// # Parts
//
//	chat            the command
//	talk            the conversation and its commands
//	partner         who answers: a model in this process, or a running server
//	input, editor   messages from a pipe; from a terminal, with line editing and history
//	history         the lines of earlier conversations
package chat

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/configs"
)

// modelFlags choose a model, in this process or of a server.
var modelFlags = []string{"model", "model-path"}

// chosenModel is the model that the command line names, "" if it names none.
func chosenModel(flags *pflag.FlagSet) string {
	for _, name := range modelFlags {
		if f := flags.Lookup(name); f.Changed {
			return f.Value.String()
		}
	}
	return ""
}

func New() *cobra.Command {
	var system, historyFile string
	s, server := node.Sampling{}, remote.Server{}
	var engine *pflag.FlagSet
	c := &cobra.Command{
		Use: "chat [MODEL]", Short: "Chat with a model in the terminal", Args: cli.ModelArg,
		Long: "Chat with a model in the terminal, or with --url with a running server; then MODEL is one of those\n" +
			"that the server lists. Lines from a pipe are answered one by one. In a terminal the usual keys edit a\n" +
			"line, the up and down keys show earlier lines, and Tab completes commands. For a message of several\n" +
			"lines, put \"\"\" before and after it, or \\ at the end of each line but the last. /help lists the\n" +
			"commands that you can type.",
		Example: "  troupe chat\n  troupe chat Qwen/Qwen2.5-0.5B-Instruct --system \"Answer in one sentence.\"\n  troupe chat --url http://127.0.0.1:30000",
		RunE: func(c *cobra.Command, _ []string) error {
			start := func(ctx context.Context, p partner) error {
				t := &talk{with: p, system: system, out: c.OutOrStdout(), filter: cli.Filter(c.OutOrStdout())}
				if t.terminal = cli.IsTerminal(os.Stdin) && c.InOrStdin() == os.Stdin; t.terminal {
					e, err := newEditor(os.Stdin, os.Stdout, historyFile)
					if err != nil {
						return err
					}
					return errors.Join(t.run(ctx, e), e.save())
				}
				return t.run(ctx, newPipe(c.InOrStdin()))
			}
			if server.URL != "" {
				if err := cli.RefuseFlags(engine, "has no effect with --url: the server has its own settings; remove it", modelFlags...); err != nil {
					return err
				}
				client, err := server.Client()
				if err != nil {
					return err
				}
				p, err := newAway(c.Context(), client, chosenModel(c.Flags()), s)
				if err != nil {
					return err
				}
				if p.note != "" {
					fmt.Fprintln(c.ErrOrStderr(), cli.Filter(c.ErrOrStderr())(p.note))
				}
				return start(c.Context(), p)
			}
			return cli.WithNode(c, func(ctx context.Context, n *node.Node) error {
				if n.TemplateFault != nil {
					return n.TemplateFault
				}
				return start(ctx, &here{n, s})
			})
		},
	}
	engine = cli.FlagGroup(c, configs.AddEngineFlags)
	server.AddFlags(c.Flags(), "")
	c.Flags().StringVar(&system, "system", "", "system message at the start of the conversation")
	c.Flags().StringVar(&historyFile, "history-file", defaultHistory(), "file that keeps the lines that you type; only you can read it. Empty: no history")
	cli.AddSamplingFlags(c, &s)
	return c
}
