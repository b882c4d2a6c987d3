package members

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
)

// Node is what a node knows of another one.
type Node struct {
	Hello  *wire.Hello
	Lost   bool
	Linked bool
	// Refused is why the node is not used, or "".
	Refused string
	// Heard is the time since its last hello.
	Heard time.Duration
}

func (c *Core) inOrder() []*peer {
	list := make([]*peer, 0, len(c.peers))
	for _, a := range slices.Sorted(maps.Keys(c.peers)) {
		list = append(list, c.peers[a])
	}
	return list
}

// List are the nodes that have been met and have not left, in the order of their addresses.
func (c *Core) List(now time.Duration) (nodes []Node) {
	for _, p := range c.inOrder() {
		if p.hello != nil && !p.left {
			nodes = append(nodes, Node{p.hello, p.lost, p.linked, p.refused, now - p.heard})
		}
	}
	return nodes
}

// Hello is what this node says of itself now.
func (c *Core) Hello(now time.Duration) *wire.Hello {
	h := c.self
	known := make([]string, 0, len(c.peers))
	for _, p := range c.inOrder() {
		if p.here() && p.refused == "" {
			known = append(known, p.address)
		}
	}
	return &wire.Hello{
		Protocol: h.Protocol, Cluster: h.Cluster, Node: h.Node, Incarnation: h.Incarnation, Address: h.Address, Gateway: h.Gateway, Api: h.Api,
		Engine: h.Engine, State: h.State, Known: known, Pid: h.Pid, Started: h.Started, Version: h.Version,
	}
}

// Set changes what this node says of itself. engine is nil while it accepts no links. After
// Leave it changes nothing.
func (c *Core) Set(state string, engine *wire.Model) {
	if c.self.State == report.Leaving {
		return
	}
	c.self.State, c.self.Engine = state, engine
	if engine != nil && c.self.Gateway {
		c.models[engine.Name] = &model{facts: engine, state: open, own: true}
	}
}

// Leave makes the next hello the last one of this node. It returns the addresses of the
// nodes that must get it.
func (c *Core) Leave() (addresses []string) {
	c.Set(report.Leaving, nil)
	for _, p := range c.inOrder() {
		if p.here() {
			addresses = append(addresses, p.address)
		}
	}
	return addresses
}
