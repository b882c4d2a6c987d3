package members

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// Check refuses a hello that makes no sense, whoever sends it.
func Check(h *wire.Hello) error {
	for _, s := range []string{h.Cluster, h.Node, h.Incarnation, h.Address, h.Api, h.State, h.Version, h.Engine.GetName(),
		h.Engine.GetWeights(), h.Engine.GetTexts(), h.Engine.GetFingerprint()} {
		if len(s) > 1024 {
			return fmt.Errorf("a text of a hello has %d bytes; at most 1024 are allowed", len(s))
		}
	}
	switch e := h.Engine; {
	case h.Node == "" || h.Incarnation == "" || h.Address == "":
		return fmt.Errorf("a hello has no node name, incarnation or address")
	case len(h.Known) > mostPeers:
		return fmt.Errorf("a hello has %d addresses; at most %d are allowed", len(h.Known), mostPeers)
	case e == nil:
	case e.Name == "" || e.Weights == "" || e.Texts == "" || e.Fingerprint == "":
		return fmt.Errorf("the model in a hello has no name, hash or fingerprint")
	case e.Context < 2 || e.Context > 1<<30 || e.Vocab < 1 || e.Vocab > 1<<31-1 || e.PoolTokens < 1 || e.PoolTokens > 1<<40 ||
		e.PageSize < 1 || e.PageSize > 1<<16 || e.Running < 1 || e.Running > 1<<30:
		return fmt.Errorf("the model in a hello has impossible sizes")
	}
	for _, a := range h.Known {
		if len(a) > 300 {
			return fmt.Errorf("an address in a hello has %d bytes", len(a))
		}
	}
	return nil
}

// check reports why a node is refused. at is its peer, nil if it has none.
func (c *Core) check(now time.Duration, at *peer, h *wire.Hello) error {
	if err := Check(h); err != nil {
		return fmt.Errorf("node %.100q is refused: %w", h.Node, err)
	}
	switch {
	case h.Protocol != Protocol:
		return fmt.Errorf("node %s speaks version %d of the cluster's protocol, and node %s version %d; run the same version of troupe on all nodes", h.Node, h.Protocol, c.self.Node, Protocol)
	case h.Cluster != c.self.Cluster:
		return fmt.Errorf("node %s belongs to cluster %q, and node %s to cluster %q; set the same cluster-name, or remove the address from cluster-join", h.Node, h.Cluster, c.self.Node, c.self.Cluster)
	case h.Node == c.self.Node:
		return fmt.Errorf("two nodes have the name %s: one at %s and one at %s; set another node-name on one of them", h.Node, c.self.Address, h.Address)
	case h.Address == c.self.Address:
		return fmt.Errorf("node %s and node %s both say that others reach them at %s; set another cluster-advertise on one of them", h.Node, c.self.Node, h.Address)
	}
	for _, p := range c.peers {
		if p != at && p.here() && p.failures == 0 && p.hello.Node == h.Node && p.hello.Incarnation != h.Incarnation && now-p.heard <= c.opt.Timeout {
			return fmt.Errorf("two nodes have the name %s: one at %s and one at %s; set another node-name on one of them", h.Node, p.address, h.Address)
		}
	}
	return nil
}
