package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

// NodeOptions returns the options of a command that does not serve.
func NodeOptions(c *cobra.Command, cfg *configs.Config) node.Options {
	return node.Options{Config: cfg, Log: QuietLogger(c, cfg), Version: c.Root().Version, Progress: LoadProgress()}
}

// WithNode starts an engine with the command's settings, runs f, and stops it.
func WithNode(c *cobra.Command, f func(context.Context, *node.Node) error) (err error) {
	cfg, err := Config(c)
	if err != nil {
		return err
	}
	n, err := node.Open(c.Context(), NodeOptions(c, cfg))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.CloseInTime(c.Context())) }()
	return f(c.Context(), n)
}

// AddSamplingFlags declares the sampling parameters of generate and chat. Others come
// from sampling-defaults.
func AddSamplingFlags(c *cobra.Command, s *node.Sampling) {
	c.Flags().IntVar(&s.MaxTokens, "max-tokens", 0, "maximum number of tokens to generate; 0: until the context is full")
	c.Flags().Float64Var(&s.Temperature, "temperature", 0, "randomness; 0: always the most likely token; default: the model's")
	c.Flags().Float64Var(&s.TopP, "top-p", 0, "sample from the most likely tokens with this total probability; default: the model's")
	c.Flags().IntVar(&s.TopK, "top-k", 0, "sample from this many most likely tokens; 0: all; default: the model's")
	c.Flags().Uint64Var(&s.Seed, "seed", 0, "seed for repeatable output; default: random")
	s.Set = c.Flags().Changed
}
