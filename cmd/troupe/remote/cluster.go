package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// Cluster is one reading of the nodes that a server knows.
type Cluster struct {
	URL   string        `json:"url"` // of the server
	At    time.Time     `json:"at"`
	Nodes []report.Node `json:"nodes"`
}

// Cluster reads /v1/cluster.
func (s *Server) Cluster(ctx context.Context) (*Cluster, error) {
	c := &Cluster{URL: s.URL}
	err := s.Read(ctx, "/v1/cluster", nil, c)
	c.At = time.Now()
	return c, err
}

// Read reads a document of JSON.
func (s *Server) Read(ctx context.Context, path string, query url.Values, into any) error {
	body, err := s.Get(ctx, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s is not a Troupe server of this version: its %s cannot be read: %w", s.URL, path, err)
	}
	return nil
}

// WatchCluster reads the nodes now and at every tick until ctx ends. It yields each
// reading, or why it failed. The first must succeed.
func (s *Server) WatchCluster(ctx context.Context, ticks <-chan time.Time) (iter.Seq2[*Cluster, error], error) {
	first, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return func(yield func(*Cluster, error) bool) {
		if !yield(first, nil) {
			return
		}
		for c, err := range watch(ctx, ticks, s.Cluster) {
			if !yield(c, err) {
				return
			}
		}
	}, nil
}

// Write writes the nodes as a table.
func (c *Cluster) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tROLE\tSTATE\tMODEL\tEPOCH\tRESTARTS\tRUNNING\tWAITING\tKV TOKENS\tLAST FAILURE")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		epoch := "-" // a gateway has none
		if n.Epoch > 0 {
			epoch = fmt.Sprint(n.Epoch)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", Cell(n.Name), Cell(n.Role), Cell(state(n)), Cell(n.Model), epoch,
			n.Restarts, n.Running, n.Waiting, kv(n), FailureText(n.LastFailure, c.At))
	}
	return w.Flush()
}

// state is that of a node, and whether it is used.
func state(n *report.Node) string {
	if n.Unused != "" {
		return n.State + ", not used"
	}
	return n.State
}

// Screen formats the nodes in lines of at most width characters.
func (c *Cluster) Screen(width int, _ bool) []string {
	var table bytes.Buffer
	_ = c.Write(&table) // to memory
	lines := []string{fmt.Sprintf("troupe top   %s   %s", c.URL, c.summary()), ""}
	for line := range strings.Lines(table.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	for i := range lines {
		lines[i] = Clip(lines[i], width)
	}
	return lines
}

// Line formats the nodes in one line, for logs and pipes.
func (c *Cluster) Line() string {
	parts := []string{c.summary()}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		parts = append(parts, fmt.Sprintf("%s %s: %d running, %d waiting, kv %s", Cell(n.Name), Cell(n.State), n.Running, n.Waiting, kv(n)))
	}
	return strings.Join(parts, "; ")
}

func (c *Cluster) summary() string {
	ready := 0
	for i := range c.Nodes {
		if c.Nodes[i].State == report.Ready {
			ready++
		}
	}
	return fmt.Sprintf("%d of %s ready", ready, units.Count(len(c.Nodes), "node"))
}

// kv is the use of a node's KV pool.
func kv(n *report.Node) string {
	if n.KVTotal == 0 {
		return "-"
	}
	return fmt.Sprintf("%s of %s", units.Grouped(n.KVUsed), units.Grouped(n.KVTotal))
}

// Cell returns the text of a node for one cell of a table.
func Cell(text string) string { return cmp.Or(logtext.Escape(text), "-") }

// FailureText describes a failure in one cell of a table.
func FailureText(f *report.Failure, now time.Time) string {
	if f == nil {
		return "-"
	}
	actor := ""
	if f.Actor != "" {
		actor = logtext.Escape(f.Actor) + ": "
	}
	return fmt.Sprintf("%s ago: %s%s", since(now.Sub(f.At)), actor, logtext.Escape(f.Cause))
}

// since formats an age with one unit. The clock of another machine may be ahead.
func since(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
