package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

// NodeOptions returns the options of a command that does not serve. It is not a node of a
// cluster, whatever the config file of the server says.
func NodeOptions(c *cobra.Command, cfg *configs.Config) node.Options {
	alone := *cfg
	alone.Cluster.Role = ""
	cfg = &alone
	return node.Options{Config: cfg, Log: QuietLogger(c, cfg), Version: c.Root().Version, Progress: LoadProgress(), Fetching: FetchingPlain()}
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
