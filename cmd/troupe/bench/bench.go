// Package bench is `troupe bench`: a model, its kernels, and servers under load.
package bench

import "github.com/spf13/cobra"

// New is the command.
func New() *cobra.Command {
	c := &cobra.Command{
		Use: "bench", Short: "Measure a model, its kernels, or a server under load",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newModel(), newKernels(), newServe())
	return c
}
