package former

import (
	"fmt"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// admin holds what intake has asked for, and the batch former's own audits. While
// an audit is out no plan is opened, so that no page changes its owner meanwhile.
type admin struct {
	opt     *Options
	out     bool              // an audit is
	ticket  messages.Ticket   // of the one that is out; 0 is the batch former's own
	audits  []messages.Ticket // that intake has asked for
	stepped bool              // a step was done since the last own audit
	changed bool              // a plan was committed since the last own audit
	history history
	flushes []messages.Ticket // that intake has asked for
}

// ask takes intake's request for an audit.
func (a *admin) ask(ticket messages.Ticket) {
	invariants.Check(ticket != 0, "an audit came back that was not sent")
	a.audits = append(a.audits, ticket)
}

// isAnswer reports whether a message answers the audit that is out.
func (a *admin) isAnswer(m *messages.AuditSlots) bool { return a.out && m.Ticket == a.ticket }

// auditDue takes the next audit that is due, and reports whether there is one.
func (a *admin) auditDue() bool {
	switch {
	case a.out:
		return false
	case len(a.audits) > 0:
		a.ticket = a.audits[0]
		a.audits = a.audits[1:]
	case a.stepped && a.opt.AuditEveryStep:
		a.ticket = 0
	default:
		return false
	}
	return true
}

// idleAuditDue is like auditDue after the end of the last request: once, if pages
// have changed their owner.
func (a *admin) idleAuditDue() bool {
	if a.changed {
		a.ticket = 0
	}
	return a.changed
}

// send starts the audit that is due.
func (a *admin) send(leased int, out *messages.Outbox) {
	if a.ticket == 0 {
		a.stepped, a.changed = false, false
	}
	a.out = true
	out.ToCache(&messages.AuditSlots{Ticket: a.ticket, Count: messages.PageCount{Leased: leased}})
}

// answered compares the counts of the owners with the pool and with the batch
// former's own counters. It returns what is wrong, or "".
func (a *admin) answered(m *messages.AuditSlots, l *ledger, out *messages.Outbox) string {
	a.out = false
	c := m.Count
	ok := c.Balanced() && c.Total == a.opt.Pages &&
		c.Free == l.free && c.Evictable == l.cached.Evictable && c.Protected == l.cached.Protected
	if m.Ticket != 0 {
		out.ToIntake(&messages.SlotsAudited{Ticket: m.Ticket, Count: c, OK: ok})
	}
	if ok {
		out.Record(messages.AuditsPassed, 1)
		return ""
	}
	out.Record(messages.AuditsFailed, 1)
	return fmt.Sprintf("the audit of KV pages does not add up: %+v of a pool of %d; the batch former knows of %d free, %d evictable, %d protected; the last plans: %s",
		c, a.opt.Pages, l.free, l.cached.Evictable, l.cached.Protected, &a.history)
}

// committed records a CommitPlan that is sent.
func (a *admin) committed(m *messages.CommitPlan) {
	a.changed = true
	a.history.record(m)
}

// refuseFlush answers the oldest flush, while requests run.
func (a *admin) refuseFlush(running int, out *messages.Outbox) {
	out.ToIntake(&messages.FlushRefused{Ticket: a.flushes[0], Running: running})
	a.flushes = a.flushes[1:]
}

// flushed answers the oldest flush, which has freed pages.
func (a *admin) flushed(pages int, out *messages.Outbox) {
	out.ToIntake(&messages.CacheFlushed{Ticket: a.flushes[0], Pages: pages})
	a.flushes = a.flushes[1:]
}
