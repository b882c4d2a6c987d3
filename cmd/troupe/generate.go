package main

import (
	"context"
	"fmt"
	"io"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

func newGenerate() *cobra.Command {
	var prompt string
	var asJSON bool
	s := node.Sampling{}
	c := &cobra.Command{
		Use: "generate", Short: "Continue one prompt and print the text", Args: cobra.NoArgs,
		Long: "Continue one prompt through the same engine that serves, without HTTP. Only the\n" +
			"generated text and a line end go to stdout. An empty prompt means BOS alone.",
		Example: `  troupe generate --prompt "Once upon a time" --max-tokens 100 --temperature 0.8 --seed 7`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(c)
			if err != nil {
				return err
			}
			s.Set = c.Flags().Changed
			return withNode(c, cfg, func(ctx context.Context, n *node.Node) error {
				return generate(ctx, n, c.OutOrStdout(), prompt, s, asJSON)
			})
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&prompt, "prompt", "", "text to continue")
	c.Flags().BoolVar(&asJSON, "json", false, "print text, finish reason and usage as JSON at the end")
	samplingFlags(c, &s)
	return c
}

// samplingFlags declares what generate and chat share; what is not given comes
// from sampling-defaults.
func samplingFlags(c *cobra.Command, s *node.Sampling) {
	c.Flags().IntVar(&s.MaxTokens, "max-tokens", 0, "tokens to generate at most; 0 is to the end of the context")
	c.Flags().Float64Var(&s.Temperature, "temperature", 0, "randomness, 0 takes the likeliest token; default: the model's")
	c.Flags().Float64Var(&s.TopP, "top-p", 0, "share of the probability to draw from; default: the model's")
	c.Flags().IntVar(&s.TopK, "top-k", 0, "tokens to draw from, 0 is all; default: the model's")
	c.Flags().Uint64Var(&s.Seed, "seed", 0, "makes the output repeatable; default: a random one")
}

// withNode runs f on an engine that is stopped afterwards. Only warnings are
// logged unless the user asks for more.
func withNode(c *cobra.Command, cfg *configs.Config, f func(context.Context, *node.Node) error) (err error) {
	log := newLogger(cfg)
	if !c.Flags().Changed("log-level") {
		log = log.Level(zerolog.WarnLevel)
	}
	n, err := openNode(c.Context(), cfg, log)
	if err != nil {
		return err
	}
	defer func() {
		if closed := n.CloseInTime(c.Context()); err == nil {
			err = closed
		}
	}()
	return f(c.Context(), n)
}

func generate(ctx context.Context, n *node.Node, w io.Writer, prompt string, s node.Sampling, asJSON bool) error {
	ids, err := n.EncodeText(prompt)
	if err != nil {
		return err
	}
	show := shown(w)
	write := func(text string) error {
		if asJSON {
			return nil
		}
		_, err := io.WriteString(w, show(text))
		return err
	}
	answer, err := n.Complete(ctx, ids, s, true, write)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, answer)
	}
	_, err = fmt.Fprintln(w)
	return err
}
