// Package cluster is `troupe cluster`: what several nodes need to be one cluster, what
// they do, and commands to them.
//
// # Parts
//
//	cluster           the group of commands
//	status, events    the nodes and their actors; what happens to them
//	actions           drain, stop, restart: what operators ask of a node or an actor
//	certs             certificates of nodes
//
// A cluster on one machine is package up.
package cluster

import (
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/cluster/up"
)

func New() *cobra.Command {
	c := cli.Group("cluster", "Run several nodes as one cluster, see what they do, and control them", up.New(), newStatus(), newActors(), newEvents(), newCerts())
	c.AddCommand(newActions()...)
	return c
}
