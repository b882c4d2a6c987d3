package dispatch

import "github.com/troupe-engine/troupe/messages"

// more is the Next of every part but the last one: the rest is known here.
const more = 1

// listPages asks the engine whose turn it is for a part.
func (c *Core) listPages(m *messages.ListPages, out *messages.Outbox) {
	l := &c.listing
	if m.After == 0 {
		*l = listing{}
	}
	l.ticket, l.open = m.Ticket, true
	for l.engine < len(c.engines) && !c.engines[l.engine].up {
		l.engine, l.after = l.engine+1, 0
	}
	if l.engine == len(c.engines) {
		c.listed(nil, 0, out)
		return
	}
	out.ToCache(&messages.ListPages{Header: c.engines[l.engine].header, Ticket: m.Ticket, After: l.after, Max: m.Max})
}

// pagesListed passes a part on.
func (c *Core) pagesListed(m *messages.PagesListed, out *messages.Outbox) {
	l := &c.listing
	if c.current(m.Header, out) == nil || !l.open || int(m.Engine) != l.engine || m.Ticket != l.ticket {
		return
	}
	if l.after = m.Next; m.Next == 0 {
		l.engine++
	}
	c.listed(m.Hashes, more, out)
}

// skipList goes on with the next engine if one is lost whose part is awaited.
func (c *Core) skipList(engine int, out *messages.Outbox) {
	if l := &c.listing; l.engine == engine {
		l.engine, l.after = l.engine+1, 0
		if l.open {
			c.listed(nil, more, out)
		}
	}
}

func (c *Core) listed(hashes []uint64, next uint64, out *messages.Outbox) {
	c.listing.open = false
	out.ToPortal(&messages.PagesListed{Header: c.own, Ticket: c.listing.ticket, Hashes: hashes, Next: next})
}
