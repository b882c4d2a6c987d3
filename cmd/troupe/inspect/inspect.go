// Package inspect is `troupe inspect`: settings, memory, prefix cache, tokens,
// chat templates and logits.
package inspect

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model"
)

func New() *cobra.Command {
	return cli.Group("inspect", "Show what is inside: settings, memory, cache, tokens, templates, logits",
		newConfig(), newMemory(), newCache(), newTokens(), newTemplate(), newLogits())
}

func newConfig() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "config", Short: "Print every setting, its value and where it came from", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := cli.Config(c)
			if err != nil {
				return err
			}
			values := cfg.Values()
			for i := range values {
				values[i].Hide()
			}
			return cli.Print(c, asJSON, values, cli.Table(0, func(w io.Writer) {
				for _, v := range values {
					fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, v.Text(), v.Source)
				}
			}))
		},
	}
	configs.AddFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// openModel opens a model's files and the device, but no engine. The caller closes the
// checkpoint.
func openModel(c *cobra.Command) (*configs.Config, string, *model.Checkpoint, gpu.Device, error) {
	cfg, err := cli.Config(c)
	if err != nil {
		return nil, "", nil, nil, err
	}
	files, name, err := node.Files(cfg)
	if err != nil {
		return nil, "", nil, nil, err
	}
	device, err := node.OpenDevice(cfg)
	if err != nil {
		return nil, "", nil, nil, err
	}
	m, err := files.Open(model.OpenOptions{LoadFormat: cfg.Open.LoadFormat, ContextLength: cfg.Open.ContextLength})
	if err != nil {
		return nil, "", nil, nil, cfg.Explain(node.AboutModel(err, cfg))
	}
	return cfg, name, m, device, nil
}
