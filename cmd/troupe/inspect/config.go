package inspect

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
)

func newConfig() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "config", Short: "Print every setting, its value and where it came from", Args: cli.NoArgs,
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
