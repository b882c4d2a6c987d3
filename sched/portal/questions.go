package portal

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// ask opens a question of a gateway and returns the ticket for the engine.
func (c *Core) ask(g *gateway, ticket messages.Ticket) messages.Ticket {
	c.tickets++
	c.asked[c.tickets] = question{g, g.header, ticket}
	return c.tickets
}

// answered returns who asked, with the header and ticket for the answer; false if the
// gateway has left.
func (c *Core) answered(h messages.Header, ticket messages.Ticket, out *messages.Outbox) (q question, ok bool) {
	if !c.current(h, out) {
		return question{}, false
	}
	q, ok = c.asked[ticket]
	delete(c.asked, ticket)
	return q, ok && c.linked(q.gateway)
}

// rename gives the requests in snapshots the ids that a gateway knows them by, and 0 to
// those of other gateways.
func (c *Core) rename(g *gateway, snapshots []*messages.Snapshot) {
	theirs := func(own messages.RequestID) messages.RequestID {
		if o := c.origins[own]; o.gateway == g {
			return o.id
		}
		return 0
	}
	for _, s := range snapshots {
		for i := range s.Requests {
			s.Requests[i].ID = theirs(s.Requests[i].ID)
		}
		for i := range s.Steps {
			step := &s.Steps[i]
			step.Chunks = slices.Clone(step.Chunks) // the batch former keeps them
			for j := range step.Chunks {
				step.Chunks[j].ID = theirs(step.Chunks[j].ID)
			}
		}
	}
}
