package cluster

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
)

// view has the flags of the commands that show something.
type view struct {
	server remote.Server
	node   string
	asJSON bool
}

func (v *view) addFlags(c *cobra.Command, json string) {
	v.server.AddFlags(c.Flags(), remote.DefaultURL)
	c.Flags().StringVar(&v.node, "node", "", "show only this node")
	c.Flags().BoolVar(&v.asJSON, "json", false, json)
}

func newStatus() *cobra.Command {
	v := &view{}
	c := &cobra.Command{
		Use: "status", Short: "List the nodes: state, model, requests, KV pool, last failure", Args: cli.NoArgs,
		Long: "Lists the nodes that the server at --url knows, itself included. Any node of the cluster can be asked;\n" +
			"two nodes may see a third one differently. `troupe top --cluster` shows the same again and again.",
		Example: "  troupe cluster status --url http://127.0.0.1:30000",
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := v.server.Cluster(c.Context())
			if err != nil {
				return err
			}
			if v.node != "" {
				if all.Nodes, err = only(v.node, all.Nodes); err != nil {
					return err
				}
			}
			return cli.Print(c, v.asJSON, all, all.Write)
		},
	}
	v.addFlags(c, "print JSON")
	return c
}

// only returns the nodes of a name; there may be several, if it was given twice.
func only(name string, nodes []report.Node) (found []report.Node, err error) {
	var names []string
	for _, n := range nodes {
		names = append(names, remote.Cell(n.Name))
		if n.Name == name {
			found = append(found, n)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("--node %q is not known; use one of %s", name, strings.Join(names, ", "))
	}
	return found, nil
}

// actors is the answer of /v1/cluster/actors.
type actors struct {
	Actors []report.Actor `json:"actors"`
}

func newActors() *cobra.Command {
	v := &view{}
	c := &cobra.Command{
		Use: "actors", Short: "List the actors of every node: state, mailbox, restarts, last failure", Args: cli.NoArgs,
		Long: "Lists the actors of every node that the server at --url knows. MAILBOX is the number of messages that\n" +
			"wait and PEAK the most that have waited; BUSY is the time spent on messages. NODE and PATH, with a /\n" +
			"between them, are a target of `troupe cluster restart`.",
		Example: "  troupe cluster actors --node engine-1",
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			if v.node != "" {
				query.Set("node", v.node)
			}
			var all actors
			if err := v.server.Read(c.Context(), "/v1/cluster/actors", query, &all); err != nil {
				return err
			}
			now := time.Now()
			return cli.Print(c, v.asJSON, all, cli.Table(0, func(w io.Writer) { all.write(w, now) }))
		},
	}
	v.addFlags(c, "print JSON")
	return c
}

func (a *actors) write(w io.Writer, now time.Time) {
	fmt.Fprintln(w, "NODE\tPATH\tROLE\tSTATE\tMAILBOX\tPEAK\tHANDLED\tRESTARTS\tBUSY\tLAST FAILURE")
	for i := range a.Actors {
		x := &a.Actors[i]
		busy := time.Duration(x.BusyMS * float64(time.Millisecond)).Round(time.Millisecond)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", remote.Cell(x.Node), remote.Cell(x.Path), remote.Cell(role(*x)), remote.Cell(x.State),
			x.Mailbox, x.MailboxPeak, x.Handled, x.Restarts, busy, remote.FailureText(x.LastFailure, now))
	}
}

// role says what an actor does; of an end of a link also which node is at the other end.
func role(a report.Actor) string {
	if a.Peer != "" {
		return a.Role + " to " + a.Peer
	}
	return a.Role
}
