package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// launch closes the plan and sends the step, or waits for the one in flight if there
// is nothing to compute. It reports whether there may be more to plan.
func (c *Core) launch(out *messages.Outbox) (again bool) {
	c.phase.close()
	st := c.fill(out)
	if st == nil {
		if !c.flight.idle() {
			c.wait()
			return false
		}
		active, late := c.batch.active(), c.batch.late()
		invariants.Check(active == c.prefill.withoutPages(c.batch.running)+late, "step %d of %d sequences has no work", c.flight.step+1, active)
		if late > 0 && active == late {
			c.flight.planBlocked = true // until a mask is ready
			return false
		}
		// The prompts for which the plan reserved pages may have ended since. The
		// next plan reserves pages for the others.
		return true
	}
	b := st.batch
	b.Closed, c.flight.closedRows = append(b.Closed, c.flight.closedRows...), c.flight.closedRows[:0]
	for _, s := range c.batch.running {
		b.addChanges(s)
	}
	c.flight.step = st.id
	st.launched, st.retracted = c.now, c.plan.retracted
	c.prefill.pacer.Launched(c.now, &b.RunBatch)
	c.shapes.note(st)
	if c.opt.ReportAdmissions && len(c.reports.newlyAdmitted) > 0 {
		c.reports.send(c.reports.next(0), out)
	}
	out.ToRunner(&b.RunBatch)
	out.Record(messages.StepTokens, float64(b.Tokens()))
	c.recordState(out) // otherwise gauges would show the last step during a long one
	return true
}

// fill gives the rows their work, decoding rows first; nil if there is none. A sequence
// gets none if a step in flight ends it, if it is not known how many of its tokens one samples,
// or if its mask is not ready.
func (c *Core) fill(out *messages.Outbox) *launchedStep {
	active := c.batch.active()
	if active == 0 {
		return nil
	}
	st := c.flight.begin()
	for _, s := range c.batch.running {
		if s.state == decoding && !s.uncertain && !s.late && !s.outgrown(c.opt) && s.ahead(c.opt.ContextLength) > 0 {
			st.add(s, 1, c.opt)
		}
	}
	if len(st.work) < active {
		c.prefill.fill(st, c.batch.running, out)
	}
	if len(st.work) == 0 {
		c.flight.cancel()
		return nil
	}
	return st
}

// wait closes the plan until the step in flight is done.
func (c *Core) wait() {
	c.flight.block()
	c.phase.close()
}
