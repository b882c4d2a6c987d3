package former

import (
	"fmt"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// audits is the state of counting pages by owner. While a count is out no plan
// is opened, so that nothing changes owner on its way.
type audits struct {
	out     bool
	ticket  messages.Ticket   // of the one that is out; 0 is the batch former's own
	waiting []messages.Ticket // intake's
	stepped bool              // a step has completed since the last own count
	dirty   bool              // a plan was committed since the last own count
}

// auditSlots takes a request from intake or the answer to the one that is out.
func (f *Core) auditSlots(m *messages.AuditSlots, out *messages.Outbox) {
	if f.audit.out && m.Ticket == f.audit.ticket {
		f.audited(m, out)
		return
	}
	invariants.Check(m.Ticket != 0, "an audit came back that was not sent")
	f.audit.waiting = append(f.audit.waiting, m.Ticket)
}

// sendAudits sends the next count that is due, once no plan is open.
func (f *Core) sendAudits(out *messages.Outbox) {
	if f.audit.out || f.phase != resting {
		return
	}
	switch {
	case len(f.audit.waiting) > 0:
		f.audit.ticket = f.audit.waiting[0]
		f.audit.waiting = f.audit.waiting[1:]
	case f.audit.stepped && f.opt.AuditEveryStep:
		f.audit.ticket = 0
	default:
		return
	}
	f.sendAudit(out)
}

func (f *Core) sendAudit(out *messages.Outbox) {
	if f.audit.ticket == 0 {
		f.audit.stepped, f.audit.dirty = false, false
	}
	f.audit.out = true
	out.ToCache(&messages.AuditSlots{
		Ticket: f.audit.ticket, Count: messages.PageCount{Leased: f.leased()},
	})
}

// idle follows the last request: the ratio starts again and, once, everything
// is counted. It reports whether there is more to do, which there is not.
func (f *Core) idle(out *messages.Outbox) (again bool) {
	f.ratio.reset()
	f.blocked, f.waiting = blockade{}, 0
	if f.audit.dirty {
		clear(f.giveWay[:cap(f.giveWay)])
		f.audit.ticket = 0
		f.sendAudit(out)
		f.recordState(out)
	}
	return false
}

// audited compares what the owners have with what there is and with the
// Former's own counters.
func (f *Core) audited(m *messages.AuditSlots, out *messages.Outbox) {
	f.audit.out = false
	c := m.Count
	ok := c.Balanced() && c.Total == f.opt.Pages &&
		c.Free == f.free && c.Evictable == f.cached.Evictable && c.Protected == f.cached.Protected
	if m.Ticket != 0 {
		out.ToIntake(&messages.SlotsAudited{Ticket: m.Ticket, Count: c, OK: ok})
	}
	if ok {
		out.Record(messages.AuditsPassed, 1)
		return
	}
	out.Record(messages.AuditsFailed, 1)
	f.fail(fmt.Sprintf("the audit of KV pages does not add up: %+v of a pool of %d; the batch former knows of %d free, %d evictable, %d protected; the last plans: %s",
		c, f.opt.Pages, f.free, f.cached.Evictable, f.cached.Protected, &f.history), nil, false, out)
}

// answerFlushes empties the cache if nobody holds a page, once no plan is open.
// Requests that have ended, which intake knows, only make it wait for the step
// that still computes them.
func (f *Core) answerFlushes(out *messages.Outbox) {
	for len(f.flushes) > 0 && f.phase == resting {
		if n := len(f.byID); n > 0 && !(f.audit.out && f.quiet()) {
			out.ToIntake(&messages.FlushRefused{Ticket: f.flushes[0], Running: n})
			f.flushes = f.flushes[1:]
			continue
		}
		if f.audit.out || !f.quiet() {
			return
		}
		f.plan.id++
		m := f.newCommit()
		m.EvictAll = true
		f.giveBack(m)
		f.sendCommit(m, out)
		f.become(flushing)
	}
}

// flushed answers the oldest flush. pages came free.
func (f *Core) flushed(pages int, out *messages.Outbox) {
	out.ToIntake(&messages.CacheFlushed{Ticket: f.flushes[0], Pages: pages})
	f.flushes = f.flushes[1:]
}
