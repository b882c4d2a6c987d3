package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/internal/suggest"
)

// self is what this node says of itself.
func (n *Node) self() report.Node {
	r := n.opt.Process.Report()
	if r.State == report.Ready && n.leaving.Load() {
		r.State = report.Draining
	}
	r.Restarts, r.LastFailure = n.opt.Roster.Restarts(), n.opt.Roster.LastFailure()
	return r
}

func (n *Node) actors() []report.Actor {
	list := n.opt.Roster.Actors()
	for i := range list {
		list[i].Node = n.name
	}
	return list
}

// others are the nodes that this one knows, one for each name.
func (n *Node) others(ctx context.Context) []Peer {
	at := n.peers.Load()
	if at == nil {
		return nil
	}
	list, err := (*at).Peers(ctx)
	if err != nil {
		return nil
	}
	// The process that is there counts, not the one before it.
	slices.SortStableFunc(list, func(a, b Peer) int {
		return cmp.Or(strings.Compare(a.Node.Name, b.Node.Name), cmp.Compare(order(a.Lost), order(b.Lost)))
	})
	return slices.CompactFunc(list, func(a, b Peer) bool { return a.Node.Name == b.Node.Name })
}

func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

// Nodes lists the nodes of the cluster by name. Nodes that do not answer in time are lost.
func (n *Node) Nodes(ctx context.Context) []report.Node {
	nodes := each(n, ctx, n.others(ctx), func(ctx context.Context, p Peer) report.Node {
		got, err := askOne[report.Node](ctx, n, p, askNode, nil)
		if err != nil || got.Name != p.Node.Name {
			got = p.Node
			got.State = report.Lost
		}
		got.Unused = p.Node.Unused
		return got
	})
	nodes = append(nodes, n.self())
	slices.SortFunc(nodes, func(a, b report.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// Actors lists the actors of a node, or of all nodes that answer if node is "".
func (n *Node) Actors(ctx context.Context, node string) ([]report.Actor, error) {
	others := n.others(ctx)
	if node != "" && node != n.name {
		p, err := n.find(others, node)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, n.opt.Answer)
		defer cancel()
		list, failed := n.actorsOf(ctx, *p)
		if failed != nil {
			return nil, unreachable(p, failed)
		}
		return list, nil
	}
	list := n.actors()
	if node == "" {
		for _, more := range each(n, ctx, others, func(ctx context.Context, p Peer) []report.Actor {
			more, _ := n.actorsOf(ctx, p) // Nodes says that it is lost
			return more
		}) {
			list = append(list, more...)
		}
		slices.SortStableFunc(list, func(a, b report.Actor) int { return strings.Compare(a.Node, b.Node) })
	}
	return list, nil
}

func (n *Node) actorsOf(ctx context.Context, p Peer) ([]report.Actor, error) {
	list, err := askOne[[]report.Actor](ctx, n, p, askActors, nil)
	for i := range list {
		list[i].Node = p.Node.Name
	}
	return list, err
}

// Abort ends requests on this node and on all others. A node that does not answer in
// time is left out: if it is lost, its requests are as well.
func (n *Node) Abort(ctx context.Context, a report.Abort) {
	n.opt.Process.Abort(a)
	question, err := json.Marshal(a)
	if err != nil {
		return // it is text and flags
	}
	each(n, ctx, n.others(ctx), func(ctx context.Context, p Peer) bool {
		done, err := askOne[bool](ctx, n, p, askAbort, question)
		return done && err == nil
	})
}

// find returns the peer with a name.
func (n *Node) find(others []Peer, name string) (*Peer, *report.Error) {
	names := []string{n.name}
	for i := range others {
		if others[i].Node.Name == name {
			return &others[i], nil
		}
		names = append(names, others[i].Node.Name)
	}
	slices.Sort(names)
	if len(names) > mostShown {
		return nil, unknown("node", name, names)
	}
	// The nearest name may be that of a node that works, instead of one that restarts.
	return nil, &report.Error{Kind: report.Unknown, Text: fmt.Sprintf("unknown node %.100s; known are %s; a node that restarts is unknown until it is back", name, strings.Join(names, ", "))}
}

// mostShown is how many names an error lists.
const mostShown = 20

// unknown is the error of a name that is not there, with the nearest one.
func unknown(what, name string, known []string) *report.Error {
	text := fmt.Sprintf("unknown %s %.100s", what, name)
	if near := suggest.Nearest(name, known, len(name)/2); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	} else if len(known) <= mostShown {
		text += "; use one of " + strings.Join(known, ", ")
	}
	return &report.Error{Kind: report.Unknown, Text: text}
}

func unreachable(p *Peer, err error) *report.Error {
	if p.Lost {
		return &report.Error{Kind: report.Unreachable, Text: fmt.Sprintf("node %s at %s is lost, so it was not asked; wait until `troupe cluster status` shows it again, or start its process", p.Node.Name, p.Address)}
	}
	return &report.Error{Kind: report.Unreachable, Text: fmt.Sprintf("node %s at %s does not answer: %v; look at `troupe cluster status`, and at the process on its machine", p.Node.Name, p.Address, err)}
}

// each asks peers at the same time and waits for all answers, for Answer at most.
func each[T any](n *Node, ctx context.Context, peers []Peer, ask func(context.Context, Peer) T) []T {
	ctx, cancel := context.WithTimeout(ctx, n.opt.Answer)
	defer cancel()
	answers := make([]T, len(peers))
	var all sync.WaitGroup
	for i, p := range peers {
		all.Go(func() { answers[i] = ask(ctx, p) })
	}
	all.Wait()
	return answers
}

// askOne puts a question that has one answer.
func askOne[T any](ctx context.Context, n *Node, p Peer, kind string, question []byte) (answer T, err error) {
	if p.Lost {
		return answer, fmt.Errorf("it is lost")
	}
	err = (*n.peers.Load()).Ask(ctx, p.Address, kind, question, func(b []byte) error {
		return json.Unmarshal(b, &answer)
	})
	return answer, err
}
