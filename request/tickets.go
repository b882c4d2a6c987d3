package request

import "github.com/troupe-engine/troupe/messages"

// ticket is an administrative question under way in the epoch that stands.
// Exactly one of its channels is set.
type ticket struct {
	flush chan<- string
	audit chan<- *messages.SlotsAudited
	tree  chan<- *messages.CacheDescribed
}

// flushed answers AskCacheFlush.
func (t ticket) flushed(why string) {
	if t.flush != nil {
		answer(t.flush, why)
	}
}

// audited answers AskAudit.
func (t ticket) audited(m *messages.SlotsAudited) {
	if t.audit != nil {
		answer(t.audit, m)
	}
}

// described answers AskCacheTree.
func (t ticket) described(m *messages.CacheDescribed) {
	if t.tree != nil {
		answer(t.tree, m)
	}
}

// lost answers a question whose epoch has ended.
func (t ticket) lost() {
	t.flushed("the engine restarted before the cache was flushed, which empties it as well")
	t.audited(nil)
	t.described(nil)
}

// takeTicket registers a question; refused is "" or why it cannot be asked now.
func (c *Core) takeTicket(k ticket) (id messages.Ticket, refused string) {
	t := c.table
	switch {
	case !t.standing || t.broken:
		return 0, "the engine is restarting; try again in a moment"
	case len(t.tickets) >= t.opt.MaxTickets:
		return 0, "too many administrative questions are under way; try again in a moment"
	}
	t.nextTicket++
	t.tickets[t.nextTicket] = k
	return t.nextTicket, ""
}

// askFlush passes AskCacheFlush on to the batch former.
func (c *Core) askFlush(m *messages.AskCacheFlush, out *messages.Outbox) {
	id, refused := c.takeTicket(ticket{flush: m.Reply})
	if refused != "" {
		answer(m.Reply, refused)
		return
	}
	out.ToFormer(&messages.FlushCache{Header: c.table.engine, Ticket: id})
}

// askAudit passes AskAudit on to the batch former.
func (c *Core) askAudit(m *messages.AskAudit, out *messages.Outbox) {
	id, refused := c.takeTicket(ticket{audit: m.Reply})
	if refused != "" {
		answer(m.Reply, nil)
		return
	}
	out.ToFormer(&messages.AuditSlots{Header: c.table.engine, Ticket: id})
}

// askTree passes AskCacheTree on to the cache.
func (c *Core) askTree(m *messages.AskCacheTree, out *messages.Outbox) {
	id, refused := c.takeTicket(ticket{tree: m.Reply})
	if refused != "" {
		answer(m.Reply, nil)
		return
	}
	out.ToCache(&messages.DescribeCache{Header: c.table.engine, Ticket: id, Limits: m.Limits})
}

// tookTicket answers the question that a reply belongs to.
func (c *Core) tookTicket(from messages.Header, id messages.Ticket, out *messages.Outbox, reply func(ticket)) {
	t := c.table
	k, ok := t.tickets[id]
	if !ok || from != t.engine {
		out.Record(messages.StaleMessages, 1)
		return
	}
	delete(t.tickets, id)
	reply(k)
}
