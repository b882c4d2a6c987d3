package portal

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

const (
	partPages = 4096
	// mostListed bounds a list to 32 MiB of hashes. A router keeps fewer pages of all engines.
	mostListed = 4 << 20
)

// listFor gives a gateway a list, when those before it have theirs.
func (c *Core) listFor(g *gateway, out *messages.Outbox) {
	c.list.waiting = append(c.list.waiting, g)
	if c.list.gateway == nil {
		c.nextList(out)
	}
}

func (c *Core) nextList(out *messages.Outbox) {
	l := &c.list
	l.gateway, l.pages = nil, 0
	if len(l.waiting) > 0 {
		l.gateway = l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		c.askPages(0, out)
	}
}

func (c *Core) askPages(after uint64, out *messages.Outbox) {
	c.tickets++
	c.list.ticket = c.tickets
	out.ToCache(&messages.ListPages{Header: c.engine, Ticket: c.tickets, After: after, Max: partPages})
}

// listed passes a part of the list on. It keeps its place among the CacheChanged, so the
// gateway hears of a page's removal after it has heard of the page.
func (c *Core) listed(m *messages.PagesListed, out *messages.Outbox) {
	if !c.current(m.Header, out) || c.list.gateway == nil || m.Ticket != c.list.ticket {
		return
	}
	l := &c.list
	if l.pages += len(m.Hashes); len(m.Hashes) > 0 && l.pages <= mostListed && c.linked(l.gateway) {
		out.ToObserver(&messages.CacheChanged{Header: l.gateway.header, Events: []messages.CacheEvent{{Kind: messages.PagesStored, Hashes: m.Hashes}}})
	}
	if m.Next == 0 {
		c.nextList(out)
	} else {
		c.askPages(m.Next, out)
	}
}
