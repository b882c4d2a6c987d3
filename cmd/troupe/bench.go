package main

import "github.com/spf13/cobra"

// newBench is the parent of the commands that measure.
func newBench() *cobra.Command {
	c := &cobra.Command{
		Use: "bench", Short: "Measure: a model, its kernels, servers under load",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBenchModel(), newBenchKernels(), newBenchServe())
	return c
}
