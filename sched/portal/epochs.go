package portal

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// join adds a gateway. If the engine is up, the gateway can submit at once.
func (c *Core) join(slot messages.EngineID, out *messages.Outbox) {
	c.leave(slot, out) // if its end was missed
	g := &gateway{header: messages.Header{Engine: slot}, open: map[messages.RequestID]messages.RequestID{}}
	c.gateways[slot] = g
	if c.up {
		c.start(g, out)
		c.listFor(g, out)
	}
	c.startReports(out)
}

// start tells a gateway of a new epoch.
func (c *Core) start(g *gateway, out *messages.Outbox) {
	c.epochs[g.header.Engine]++ // never used by an earlier link either
	g.header.Epoch, g.seq = c.epochs[g.header.Engine], 0
	out.ToIntake(&messages.EpochStarted{Header: g.header})
}

// leave releases everything of a gateway whose link is over.
func (c *Core) leave(slot messages.EngineID, out *messages.Outbox) {
	g := c.gateways[slot]
	if g == nil {
		return
	}
	delete(c.gateways, slot)
	c.list.waiting = slices.DeleteFunc(c.list.waiting, func(waits *gateway) bool { return waits == g })
	if c.up && len(g.open) > 0 {
		out.ToQueue(&messages.FinishRequests{Header: c.engine, IDs: slices.Sorted(maps.Values(g.open))})
	}
}

// engineUp makes the engine's new epoch available to all gateways.
func (c *Core) engineUp(h messages.Header, out *messages.Outbox) {
	if h.Epoch <= c.engine.Epoch {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.engineDown(&messages.EpochEnded{Cause: "the engine has restarted"}, out) // if its end was missed
	c.engine, c.up, c.broken, c.seq = h, true, false, 0
	for _, g := range c.inOrder() {
		c.start(g, out)
	}
}

func (c *Core) engineEnded(m *messages.EpochEnded, out *messages.Outbox) {
	if m.Header != c.engine || !c.up {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if m.Requests != nil {
		c.partDown(m, out)
		return
	}
	c.engineDown(m, out)
}

// partDown returns to each gateway those of its requests that were lost with one of several
// engines of this process. The others go on.
func (c *Core) partDown(m *messages.EpochEnded, out *messages.Outbox) {
	if !c.follows(m.Seq, out) {
		return
	}
	suspects := c.byGateway(m.Suspects)
	lost := c.byGateway(m.Requests)
	for _, own := range m.Requests {
		if o, ok := c.origins[own]; ok && c.linked(o.gateway) {
			delete(o.gateway.open, o.id)
		}
		c.forget(own)
	}
	for _, g := range c.inOrder() {
		if len(lost[g]) > 0 {
			g.seq++
			out.ToIntake(&messages.EpochEnded{Header: g.header, Seq: g.seq, Cause: m.Cause, Suspects: suspects[g], Requests: lost[g]})
		}
	}
}

// byGateway are the gateways' ids of some requests.
func (c *Core) byGateway(requests []messages.RequestID) map[*gateway][]messages.RequestID {
	ids := map[*gateway][]messages.RequestID{}
	for _, own := range requests {
		if o, ok := c.origins[own]; ok {
			ids[o.gateway] = append(ids[o.gateway], o.id)
		}
	}
	return ids
}

// follows reports whether results of the engine have the next number. If not, its epoch ends.
func (c *Core) follows(seq uint64, out *messages.Outbox) bool {
	if seq == c.seq+1 {
		c.seq = seq
		return true
	}
	c.broken = true
	out.ToSupervisor(&messages.FailEpoch{Header: c.engine, From: messages.Portal,
		Cause: fmt.Sprintf("step results %d came after %d; messages were lost or repeated", seq, c.seq)})
	return false
}

// engineDown returns to each gateway the suspects among its requests; all of them are lost.
func (c *Core) engineDown(m *messages.EpochEnded, out *messages.Outbox) {
	if !c.up {
		return
	}
	suspects := c.byGateway(m.Suspects)
	for _, g := range c.inOrder() {
		clear(g.open)
		g.load = messages.EngineLoad{}
		out.ToIntake(&messages.EpochEnded{Header: g.header, Cause: m.Cause, Suspects: suspects[g]})
	}
	c.up = false
	clear(c.origins)
	clear(c.asked) // gateways answer themselves when an epoch ends
	c.load, c.meter.prefilling = messages.EngineLoad{}, 0
	c.list = list{} // the cache of the next epoch is empty, and tells of all pages
}
