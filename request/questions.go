package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// maxTickets bounds the open administrative questions.
const maxTickets = 16

const restarting = "the engine is restarting; try again in a moment"

// ask sends an administrative question of a client to the engine, and keeps it with its
// reply channel under a ticket until the engine answers.
func (c *Core) ask(question messages.ToIntake, out *messages.Outbox) {
	t := c.table
	switch {
	case !t.engine.answers():
		refuseQuestion(question, restarting)
		return
	case len(t.tickets) >= maxTickets:
		refuseQuestion(question, "too many administrative requests are open; try again in a moment")
		return
	}
	t.nextTicket++
	t.tickets[t.nextTicket] = question
	switch q := question.(type) {
	case *messages.AskCacheFlush:
		out.ToFormer(&messages.FlushCache{Header: t.engine.header, Ticket: t.nextTicket})
	case *messages.AskAudit:
		out.ToFormer(&messages.AuditSlots{Header: t.engine.header, Ticket: t.nextTicket})
	case *messages.AskSnapshot:
		out.ToFormer(&messages.AuditSlots{Header: t.engine.header, Ticket: t.nextTicket, Snapshot: &messages.Snapshot{}})
	case *messages.AskCacheTree:
		out.ToCache(&messages.DescribeCache{Header: t.engine.header, Ticket: t.nextTicket, Limits: q.Limits})
	}
}

// refuseQuestion answers a question or a setting that is not carried out.
func refuseQuestion(question messages.ToIntake, why string) {
	switch q := question.(type) {
	case *messages.AskCacheFlush:
		answer(q.Reply, why)
	case *messages.ConfigureIntake:
		answer(q.Reply, why)
	case *messages.AskAudit:
		answer(q.Reply, nil)
	case *messages.AskSnapshot:
		answer(q.Reply, nil)
	case *messages.AskCacheTree:
		answer(q.Reply, nil)
	}
}

// asked takes the question of an answer off the list; not ok if its epoch has ended.
func asked[Q messages.ToIntake](c *Core, from messages.Header, id messages.Ticket, out *messages.Outbox) (question Q, ok bool) {
	t := c.table
	if from == t.engine.header {
		question, ok = t.tickets[id].(Q)
	}
	if !ok {
		out.Record(messages.StaleMessages, 1)
		return question, false
	}
	delete(t.tickets, id)
	return question, true
}

// audited answers who has asked for an audit or a snapshot.
func (c *Core) audited(now time.Duration, m *messages.SlotsAudited, out *messages.Outbox) {
	up := m.Count.Total > 0 // else none of several engines was
	if _, snapshot := c.table.tickets[m.Ticket].(*messages.AskSnapshot); snapshot {
		if q, ok := asked[*messages.AskSnapshot](c, m.Header, m.Ticket, out); ok && up {
			answer(q.Reply, c.table.describe(now, m))
		} else if ok {
			answer(q.Reply, nil)
		}
		return
	}
	if q, ok := asked[*messages.AskAudit](c, m.Header, m.Ticket, out); ok {
		if !up {
			m = nil
		}
		answer(q.Reply, m)
	}
}

// describe adds the open requests to the snapshots of the engines.
func (t *Table) describe(now time.Duration, m *messages.SlotsAudited) *messages.SnapshotTaken {
	s := &messages.SnapshotTaken{OK: m.OK, Count: m.Count, Engines: m.Snapshots, Open: []messages.OpenRequest{}}
	for _, e := range t.inOrder() {
		if len(s.Open) == messages.MostOpenShown {
			s.Hidden = len(t.entries) - len(s.Open)
			break
		}
		s.Open = append(s.Open, messages.OpenRequest{
			ID: e.id, UserID: e.call.user.id, Choice: e.index, Prompt: len(e.sub.Prompt), Output: len(e.output),
			Priority: e.sub.Priority, Age: now - e.arrived, Held: e.place == placeHeld, Ended: e.finish != nil,
		})
	}
	return s
}

// configure sets new limits, all or none. Open requests that exceed them go on.
func (c *Core) configure(m *messages.ConfigureIntake) {
	opt := c.table.opt.with(m.Limits)
	if err := opt.Validate(); err != nil {
		answer(m.Reply, err.Error())
		return
	}
	c.table.opt = opt
	answer(m.Reply, "")
}

// answer replies to an administrative question without blocking. The reply is
// dropped if the channel is full, which the protocol rules out.
func answer[T any](reply chan<- T, value T) {
	select {
	case reply <- value:
	default:
	}
}
