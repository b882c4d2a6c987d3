// Package cluster is `troupe cluster`: what several nodes need to be one cluster.
//
// # Parts
//
//	cluster   the group of commands
//	certs     certificates of nodes
package cluster

import (
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
)

func New() *cobra.Command {
	return cli.Group("cluster", "Run several nodes as one cluster: certificates", newCerts())
}
