package former

import (
	"fmt"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// admin holds intake's audits and flushes, and the batch former's own audits. While an
// audit is out no plan is opened, so that no page changes its owner.
type admin struct {
	opt     *Options
	out     bool                   // an audit is
	current messages.AuditSlots    // the one that is out; ticket 0 is the batch former's own
	audits  []*messages.AuditSlots // of intake
	stepped bool                   // a step was done since the last own audit
	changed bool                   // a plan was committed since the last own audit
	history history
	flushes []messages.Ticket // of intake
}

// auditDue takes the next audit that is due, if there is one: those of intake, then
// the batch former's own. idle says that the last request has ended. Then pages are
// audited once if any has changed its owner.
func (a *admin) auditDue(idle bool) bool {
	switch {
	case a.out:
		return false
	case len(a.audits) > 0:
		a.current, a.audits = *a.audits[0], a.audits[1:]
	case a.stepped && a.opt.AuditEveryStep, a.changed && idle:
		a.current, a.stepped, a.changed = messages.AuditSlots{}, false, false
		if a.opt.AuditEveryStep {
			a.current.Snapshot = &messages.Snapshot{}
		}
	default:
		return false
	}
	a.out = true
	return true
}

// answered compares the counts of the owners with the pool and with the batch
// former's own counters. It returns what is wrong, or "".
func (a *admin) answered(m *messages.AuditSlots, l *ledger, out *messages.Outbox) string {
	a.out = false
	c := m.Count
	ok := c.Balanced() && c.Total == a.opt.Pages &&
		c.Free == l.free && c.Evictable == l.cached.Evictable && c.Protected == l.cached.Protected
	fault := ""
	var snapshots []*messages.Snapshot
	if s := m.Snapshot; s != nil {
		if s.Close(c); s.Fault != "" {
			ok, fault = false, ", "+s.Fault
		}
		snapshots = append(snapshots, s)
	}
	if m.Ticket != 0 {
		out.ToIntake(&messages.SlotsAudited{Ticket: m.Ticket, Count: c, OK: ok, Snapshots: snapshots})
	}
	if ok {
		out.Record(messages.AuditsPassed, 1)
		return ""
	}
	out.Record(messages.AuditsFailed, 1)
	return fmt.Sprintf("the audit of KV pages failed: counted %+v in a pool of %d%s; expected %d free, %d evictable, %d protected; the last plans: %s",
		c, a.opt.Pages, fault, l.free, l.cached.Evictable, l.cached.Protected, &a.history)
}

func (a *admin) committed(m *messages.CommitPlan) {
	a.changed = true
	a.history.record(m)
}

func (a *admin) nextFlush() (ticket messages.Ticket) {
	ticket, a.flushes = a.flushes[0], a.flushes[1:]
	return ticket
}

func (c *Core) sendAudit(out *messages.Outbox) {
	m := &messages.AuditSlots{Ticket: c.admin.current.Ticket, Count: messages.PageCount{Leased: c.pages.leased(c.batch.running)}}
	if s := c.admin.current.Snapshot; s != nil {
		h := c.admin.current.Header
		m.Snapshot = &messages.Snapshot{Engine: h.Engine, Epoch: h.Epoch}
		c.describePages(m.Snapshot)
	}
	out.ToCache(m)
}

// describePages adds the leased pages to a snapshot, before it goes around the ring. No
// page changes its owner until it is back.
func (c *Core) describePages(s *messages.Snapshot) {
	s.PageSize, s.PageBytes, s.Pages = c.opt.PageSize, c.opt.PageBytes, make(messages.PageMap, c.opt.Pages)
	for _, seq := range c.batch.running {
		s.ClaimPages(seq.lease.Private(), messages.PageLeased)
	}
	for i := range c.pages.released {
		s.ClaimPages(c.pages.released[i].lease.Private(), messages.PageLeased)
	}
	for _, d := range c.pages.deferred {
		s.ClaimPages(d.pages, messages.PageLeased)
	}
}

// describeRequests adds the requests with their progress, and the newest steps, when the
// snapshot is back: intake has or gets the results of all steps up to here before it.
func (c *Core) describeRequests(s *messages.Snapshot) {
	s.Requests = make([]messages.SnapshotRequest, 0, len(c.batch.running)+len(c.batch.retracted))
	for _, seq := range c.batch.running {
		s.Requests = append(s.Requests, seq.describe())
	}
	for _, seq := range c.batch.retracted {
		s.Requests = append(s.Requests, seq.describe())
	}
	s.Steps = c.shapes.list()
	c.shapes.watch()
}

// auditSlots takes a request for an audit, or the answer to the one that is out.
func (c *Core) auditSlots(m *messages.AuditSlots, out *messages.Outbox) {
	if !c.admin.out || m.Ticket != c.admin.current.Ticket {
		invariants.Check(m.Ticket != 0, "an audit came back that was not sent")
		c.admin.audits = append(c.admin.audits, m)
		return
	}
	if m.Snapshot != nil && m.Ticket != 0 { // someone looks; its own are for the pages alone
		c.describeRequests(m.Snapshot)
	}
	if wrong := c.admin.answered(m, &c.pages, out); wrong != "" {
		c.fail(wrong, nil, false, out)
	}
}

// answerFlushes empties the cache if no request holds a page, once no plan is open. A
// request that has ended only delays it until the step in flight is done.
func (c *Core) answerFlushes(out *messages.Outbox) {
	for len(c.admin.flushes) > 0 && c.phase == resting {
		settled := !c.admin.out && c.flight.idle()
		if n := len(c.batch.byID); n > 0 && !(c.admin.out && c.flight.idle()) {
			out.ToIntake(&messages.FlushRefused{Ticket: c.admin.nextFlush(), Running: n})
			continue
		}
		if !settled {
			return
		}
		c.plan.id++
		m := c.plan.begin()
		m.EvictAll = true
		c.pages.giveBack(&c.plan, c.flight.done)
		c.send(m, flushing, out)
	}
}
