package portal

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// enqueue passes on a gateway's requests under ids of the engine's own.
func (c *Core) enqueue(g *gateway, requests []*messages.EngineRequest, out *messages.Outbox) {
	if len(c.origins) == 0 {
		c.meter.last = c.now // until now there was nothing to do
	}
	mine := make([]*messages.EngineRequest, 0, len(requests))
	for _, r := range requests {
		if _, twice := g.open[r.ID]; twice {
			invariants.Fail("gateway %d sends request %d again", g.header.Engine, r.ID)
		}
		c.last++
		own := *r
		own.ID, own.Fingerprint = c.last, "" // the gateway has compared it
		o := origin{gateway: g, id: r.ID, tokens: int32(r.Len())}
		g.open[r.ID], c.origins[own.ID] = own.ID, o
		c.count(&o, 1)
		mine = append(mine, &own)
	}
	out.ToQueue(&messages.EnqueueRequests{Header: c.engine, Requests: mine})
}

// finish passes on the end of a gateway's requests. Of those that the engine does not have,
// the gateway has been sent the end or the loss already. They are not acknowledged: the
// gateway may have sent such a request again, and the answer would end that one.
func (c *Core) finish(g *gateway, ids []messages.RequestID, out *messages.Outbox) {
	var known []messages.RequestID
	for _, id := range ids {
		if own, ok := g.open[id]; ok {
			known = append(known, own)
		}
	}
	if len(known) > 0 {
		out.ToQueue(&messages.FinishRequests{Header: c.engine, IDs: known})
	}
}
