// Package bench is `troupe bench`: a model, its kernels, and servers under load.
//
// # Parts
//
//	bench, model, kernels, serve   the commands: flags, checks, one run, its report
//	workload, lengths              datasets of bench serve; lengths that fit the server's context
//	progress                       the line that shows a load while it runs
//	shape, overhttp, delayprobe    for bench model: random weights; clients over HTTP; how late idle actors are
package bench

import (
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
)

func New() *cobra.Command {
	return cli.Group("bench", "Measure a model, its kernels, or a server under load", newModel(), newKernels(), newServe())
}
