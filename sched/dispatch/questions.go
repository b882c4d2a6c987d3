package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// Views are the trees of the engines that are up, by number. It marshals to JSON.
type Views struct {
	Engines []EngineView `json:"engines"`
}

type EngineView struct {
	Engine messages.EngineID  `json:"engine"`
	View   messages.CacheView `json:"cache"`
}

func (v *Views) add(m *messages.CacheDescribed) {
	v.Engines = append(v.Engines, EngineView{m.Engine, m.View})
	slices.SortFunc(v.Engines, func(a, b EngineView) int { return cmp.Compare(a.Engine, b.Engine) })
}

func (v *Views) Text(ages bool) string {
	var b strings.Builder
	for _, e := range v.Engines {
		fmt.Fprintf(&b, "engine %d\n%s", e.Engine, e.View.Text(ages))
	}
	return b.String()
}

// ask passes a question on to all engines that are up; without any it is refused now.
func (c *Core) ask(ticket messages.Ticket, sum messages.ToIntake, send func(h messages.Header), out *messages.Outbox) {
	q := &question{open: map[int]bool{}, sum: sum}
	for i := range c.engines {
		if c.engines[i].up {
			q.open[i] = true
			send(c.engines[i].header)
		}
	}
	c.asked[ticket] = q
	c.conclude(ticket, out)
}

func (c *Core) answered(h messages.Header, ticket messages.Ticket, add func(q *question), out *messages.Outbox) {
	q := c.asked[ticket]
	if c.current(h, out) == nil || q == nil || !q.open[int(h.Engine)] {
		return
	}
	add(q)
	q.some = true
	delete(q.open, int(h.Engine))
	c.conclude(ticket, out)
}

// abandon ends every question's wait for an engine that is down.
func (c *Core) abandon(i int, out *messages.Outbox) {
	for _, ticket := range slices.Sorted(maps.Keys(c.asked)) {
		if q := c.asked[ticket]; q.open[i] {
			delete(q.open, i)
			c.conclude(ticket, out)
		}
	}
}

// conclude answers intake when every engine has answered. If none could, the answer is an
// empty one: intake refuses the question.
func (c *Core) conclude(ticket messages.Ticket, out *messages.Outbox) {
	q := c.asked[ticket]
	if len(q.open) > 0 {
		return
	}
	delete(c.asked, ticket)
	_, flush := q.sum.(*messages.CacheFlushed)
	switch tree, _ := q.sum.(*messages.CacheDescribed); {
	case flush && (q.running > 0 || !q.some):
		out.ToIntake(&messages.FlushRefused{Header: c.own, Ticket: ticket, Running: q.running})
		return
	case tree != nil && !q.some:
		tree.View = nil
	}
	out.ToIntake(q.sum)
}

func (c *Core) flush(m *messages.FlushCache, out *messages.Outbox) {
	sum := &messages.CacheFlushed{Header: c.own, Ticket: m.Ticket}
	c.ask(m.Ticket, sum, func(h messages.Header) { out.ToFormer(&messages.FlushCache{Header: h, Ticket: m.Ticket}) }, out)
}

func (c *Core) audit(m *messages.AuditSlots, out *messages.Outbox) {
	sum := &messages.SlotsAudited{Header: c.own, Ticket: m.Ticket, OK: true}
	c.ask(m.Ticket, sum, func(h messages.Header) { out.ToFormer(auditOf(m, h)) }, out)
}

func (c *Core) describe(m *messages.DescribeCache, out *messages.Outbox) {
	sum := &messages.CacheDescribed{Header: c.own, Ticket: m.Ticket, View: &Views{}}
	c.ask(m.Ticket, sum, func(h messages.Header) {
		out.ToCache(&messages.DescribeCache{Header: h, Ticket: m.Ticket, Limits: m.Limits})
	}, out)
}

// auditOf passes an audit on to an engine; each one makes a snapshot of its own.
func auditOf(m *messages.AuditSlots, h messages.Header) *messages.AuditSlots {
	audit := &messages.AuditSlots{Header: h, Ticket: m.Ticket}
	if m.Snapshot != nil {
		audit.Snapshot = &messages.Snapshot{}
	}
	return audit
}

func addAudit(sum, m *messages.SlotsAudited) {
	s, c := &sum.Count, &m.Count
	s.Free, s.Evictable, s.Protected = s.Free+c.Free, s.Evictable+c.Evictable, s.Protected+c.Protected
	s.Leased, s.InTransfer, s.Total = s.Leased+c.Leased, s.InTransfer+c.InTransfer, s.Total+c.Total
	sum.OK = sum.OK && m.OK
	sum.Snapshots = append(sum.Snapshots, m.Snapshots...)
	slices.SortFunc(sum.Snapshots, func(a, b *messages.Snapshot) int { return cmp.Compare(a.Engine, b.Engine) })
}
