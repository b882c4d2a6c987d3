// Package inspect is `troupe inspect`: settings, memory, prefix cache, tokens,
// chat templates and logits.
package inspect

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model"
)

// New is the command.
func New() *cobra.Command {
	c := &cobra.Command{Use: "inspect", Short: "Show what is inside: settings, memory, cache, tokens, templates, logits",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(newConfig(), newMemory(), newCache(), newTokens(), newTemplate(), newLogits())
	return c
}

func newConfig() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "config", Short: "Print every setting, its value and where it came from", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, values, err := cli.Config(c)
			if err != nil {
				return err
			}
			for i := range values {
				hideKey(&values[i])
			}
			if asJSON {
				return cli.PrintJSON(c.OutOrStdout(), values)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, v := range values {
				value := fmt.Sprint(v.Value)
				if list, ok := v.Value.([]string); ok {
					value = strings.Join(list, ",")
				}
				if value == "" {
					value = `""`
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, value, v.Source)
			}
			return w.Flush()
		},
	}
	configs.AddFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// hideKey hides API keys: printed settings get pasted.
func hideKey(v *configs.Value) {
	switch key := v.Value.(type) {
	case []string:
		if v.Key == "api-key" && len(key) > 0 {
			v.Value = []string{"(set)"}
		}
	case string:
		if v.Key == "admin-api-key" && key != "" {
			v.Value = "(set)"
		}
	}
}

// openModel reads a model's files for a look at them, without starting an
// engine. The caller closes the checkpoint.
func openModel(c *cobra.Command) (*configs.Config, string, *model.Checkpoint, gpu.Device, error) {
	cfg, _, err := cli.Config(c)
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
