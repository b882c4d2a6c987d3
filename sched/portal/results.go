package portal

import (
	"github.com/troupe-engine/troupe/messages"
)

// split sends each gateway its part of a step's results, and the engine's message back.
func (c *Core) split(m *messages.StepResults, out *messages.Outbox) {
	if !c.current(m.Header, out) {
		return
	}
	if !c.follows(m.Seq, out) {
		return
	}
	c.stepped(m)
	for _, id := range m.Admitted {
		c.advance(id, prefilling)
		if part, id := c.part(m, id); part != nil {
			part.Admitted = append(part.Admitted, id)
		}
	}
	for i := range m.Prompts {
		p := m.Prompts[i]
		c.computed(&p)
		if part, id := c.part(m, p.ID); part != nil {
			p.ID = id
			part.Prompts = append(part.Prompts, p)
		}
	}
	for i := range m.Tokens {
		t := m.Tokens[i]
		if part, id := c.part(m, t.ID); part != nil {
			t.ID = id
			part.Tokens = append(part.Tokens, t)
		}
	}
	for i := range m.Ended {
		e := m.Ended[i]
		own := e.ID
		if part, id := c.part(m, e.ID); part != nil {
			e.ID = id
			part.Ended = append(part.Ended, e)
			delete(c.origins[own].gateway.open, id)
		}
		c.forget(own)
	}
	for _, g := range c.touched {
		g.seq++
		g.part.Header, g.part.Seq = g.header, g.seq
		out.ToIntake(g.part)
		g.part = nil
	}
	c.touched = c.touched[:0]
	out.ToFormer(m)
}

// part returns the part of a step's results for a request's gateway, and the request's id
// there; nil if the gateway has left or the request is unknown.
func (c *Core) part(m *messages.StepResults, own messages.RequestID) (*messages.StepResults, messages.RequestID) {
	o, ok := c.origins[own]
	if !ok || !c.linked(o.gateway) {
		return nil, 0
	}
	if o.gateway.part == nil {
		o.gateway.part = &messages.StepResults{Step: m.Step}
		c.touched = append(c.touched, o.gateway)
	}
	return o.gateway.part, o.id
}

// cacheChanged tells every gateway what the cache holds now.
func (c *Core) cacheChanged(m *messages.CacheChanged, out *messages.Outbox) {
	if !c.current(m.Header, out) {
		return
	}
	for _, g := range c.inOrder() {
		out.ToObserver(&messages.CacheChanged{Header: g.header, Seq: m.Seq, Events: m.Events})
	}
}
