package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Handle handles one message, or ignores it after the batch former has failed its epoch.
func (c *Core) Handle(now time.Duration, msg messages.ToFormer, out *messages.Outbox) {
	if c.phase == failed {
		return
	}
	c.now = now
	switch m := msg.(type) {
	case *messages.StepResults:
		c.reports.recycle(m)
		return
	case *messages.CandidatesWaiting:
		c.admission.arrived()
		c.flight.planBlocked = false
	case *messages.CandidatesOffered:
		c.candidatesOffered(m, out)
	case *messages.FinishRequests:
		c.finish(m.IDs)
	case *messages.PrefixesLocked:
		c.prefixesLocked(m, out)
	case *messages.PagesReserved:
		c.pagesReserved(m, out)
	case *messages.PagesRefused:
		invariants.Fail("the allocator refused plan %d, made from exact counters: %d pages wanted, %d free: %s", m.Plan, m.Wanted, m.Free, m.Reason)
	case *messages.BatchDone:
		c.batchDone(m, out)
	case *messages.MaskReady:
		c.maskReady(m.ID)
	case *messages.BatchFailed:
		c.batchFailed(m, out)
	case *messages.FlushCache:
		c.admin.flushes = append(c.admin.flushes, m.Ticket)
	case *messages.AuditSlots:
		c.auditSlots(m, out)
	default:
		invariants.Fail("the batch former got a %T", msg)
	}
	c.sweep()
	c.advance(out)
	c.acknowledge(out)
	if invariants.Enabled {
		c.check()
	}
}

// advance goes on as far as possible without another message.
func (c *Core) advance(out *messages.Outbox) {
	for {
		c.answerFlushes(out)
		if c.phase == resting && c.admin.auditDue(false) {
			c.sendAudit(out)
		}
		if c.phase != resting || c.admin.out || c.flight.full() || !c.openPlan(out) {
			return
		}
	}
}

// openPlan starts the next plan, and reports whether another one may follow at once.
func (c *Core) openPlan(out *messages.Outbox) (again bool) {
	admittable := len(c.batch.retracted) > 0 || c.admission.queued
	if len(c.batch.running)+len(c.pages.released)+len(c.pages.deferred) == 0 && !admittable {
		c.idle(out)
		return false
	}
	if c.fenced() {
		c.wait()
		return false
	}
	c.pressure.preemptionPending = false
	c.plan.id++
	c.plan.retracted = false
	if c.pressure.forcedDue() || c.admission.drainFor != 0 {
		c.retractFirst(out)
	}
	if admittable && !c.plan.retracted {
		if v := c.snapshot(); c.admission.wants(&v) && c.missing(1) <= v.reservable {
			return c.ask(&v, out)
		}
	}
	return c.commit(out)
}

// fenced reports whether the next plan must retract, which no step in flight allows.
func (c *Core) fenced() bool {
	return !c.flight.idle() && (c.pressure.forcedDue() || c.admission.drainFor != 0 || c.pressure.preemptionPending)
}

// retractFirst makes the retractions with which a plan begins: one for RetractEvery, and
// of all decoding sequences for a request that must run alone, instead of waiting for
// their ends. They are admitted again at its first token. Sequences in prefill go on
// until they decode, so that several such requests do not undo all progress.
func (c *Core) retractFirst(out *messages.Outbox) {
	v := c.snapshot()
	if victims := c.pressure.forced(&v); len(victims) > 0 {
		c.retract(victims, out)
		c.pressure.measure(c.batch.running)
	}
	if c.admission.drainFor != 0 {
		v = c.snapshot()
		c.retract(c.pressure.retractable(&v, 0, false), out)
	}
}

// acknowledge reports requests that ended, unless a step in flight will bring results.
func (c *Core) acknowledge(out *messages.Outbox) {
	if len(c.reports.ended) > 0 && c.flight.idle() && c.phase != failed {
		c.reports.send(c.reports.next(0), out)
	}
}

// idle follows the end of the last request: the ratio is reset and, once, pages audited.
func (c *Core) idle(out *messages.Outbox) {
	c.pressure.ratio.reset()
	c.admission.idle()
	if c.admin.auditDue(true) {
		c.pressure.forget()
		c.sendAudit(out)
		c.recordState(out)
	}
}
