package portal

import "github.com/troupe-engine/troupe/messages"

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
