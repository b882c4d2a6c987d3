// Package generate is `troupe generate`: it continues one prompt.
package generate

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

func New() *cobra.Command {
	var prompt string
	var asJSON bool
	s := node.Sampling{}
	c := &cobra.Command{
		Use: "generate", Short: "Continue one prompt and print the text", Args: cli.NoArgs,
		Long: "Continue one prompt with the same engine as troupe serve, but without HTTP. Only the\n" +
			"generated text and a line end go to stdout. An empty prompt starts from the BOS token.",
		Example: `  troupe generate --prompt "Once upon a time" --max-tokens 100 --temperature 0.8 --seed 7`,
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithNode(c, func(ctx context.Context, n *node.Node) error {
				return generate(ctx, n, c.OutOrStdout(), prompt, s, asJSON)
			})
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&prompt, "prompt", "", "text to continue")
	c.Flags().BoolVar(&asJSON, "json", false, "print text, finish reason and usage as JSON at the end")
	cli.AddSamplingFlags(c, &s)
	return c
}

func generate(ctx context.Context, n *node.Node, w io.Writer, prompt string, s node.Sampling, asJSON bool) error {
	ids, err := n.EncodeText(prompt)
	if err != nil {
		return err
	}
	filter := cli.Filter(w)
	answer, err := n.Complete(ctx, ids, s, true, func(text string) error {
		if asJSON {
			return nil
		}
		_, err := io.WriteString(w, filter(text))
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return cli.PrintJSON(w, answer)
	}
	_, err = fmt.Fprintln(w)
	return err
}
