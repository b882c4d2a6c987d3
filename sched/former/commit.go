package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// commit sends what changes the cache and the allocator, or goes on to the step if
// nothing does. If the step in flight must give back pages first, it waits.
func (c *Core) commit(out *messages.Outbox) (again bool) {
	c.prefill.wantPages(c.batch.running)
	when := c.ensurePages(out)
	if when == afterStep {
		c.wait()
		return false
	}
	m := c.plan.begin()
	c.pages.giveBack(&c.plan, c.flight.done)
	c.plan.insertPrefixes(c.batch.running, c.flight.done, c.opt)
	next := settling
	if when == atOnce {
		c.plan.reserve(c.batch.running, c.pages.free, c.opt)
		next = committing
	}
	if c.plan.empty() {
		return c.launch(out)
	}
	c.send(m, next, out)
	return false
}

// reservation says when the next step's pages can be reserved.
type reservation uint8

const (
	atOnce        reservation = iota
	afterSettling             // once the plan has given back, without reserving
	afterStep                 // once the step in flight is done
)

// ensurePages says when the next step's pages can be reserved, and retracts sequences if
// it must. A plan never asks for more than there is, and never retracts more than it
// needs. Only the cache knows which unlocked prefixes others share, and which copies the
// tree has. If the pages depend on that, the plan first gives back without reserving.
// While a step is in flight nothing is retracted: it may give back enough.
func (c *Core) ensurePages(out *messages.Outbox) reservation {
	if c.countSpare() {
		return atOnce
	}
	if c.flight.idle() && c.missing(1) > c.reservableAtBest() {
		// As far ahead as SGLang's retract_decode looks: the next steps retract nothing.
		for {
			v, short := c.snapshot(), c.missing(lookaheadSteps)-c.reservableAtBest()
			if short <= 0 {
				break
			}
			victims := c.pressure.choose(&v, short)
			if len(victims) == 0 {
				break
			}
			c.retract(victims, out)
			c.pressure.measure(c.batch.running)
		}
		if c.countSpare() {
			return atOnce
		}
	}
	if c.reservableAtBest() > c.pages.reservableNow(c.flight.done) {
		return afterSettling
	}
	invariants.Check(!c.flight.idle(),
		"%d running requests need %d pages, %d are free and %d evictable, and none can be retracted",
		len(c.batch.running), c.missing(1), c.pages.free, c.pages.cached.Evictable)
	return afterStep
}

// countSpare counts the pages that the plan can reserve beyond what the next step
// needs, and reports whether none is missing.
func (c *Core) countSpare() bool {
	c.plan.spare = c.pages.reservableNow(c.flight.done) - c.missing(1)
	return c.plan.spare >= 0
}

func (c *Core) reservableAtBest() int {
	return c.pages.reservableAtBest(c.batch.running, c.flight.done)
}

// pagesReserved takes the answer to a CommitPlan and goes on.
func (c *Core) pagesReserved(m *messages.PagesReserved, out *messages.Outbox) {
	c.must((c.phase.committed() || c.phase == flushing) && m.Plan == c.plan.id, "PagesReserved")
	free := c.pages.free
	if c.pages.take(&c.plan, m) {
		c.admission.unblock() // more of its prefix may be cached now
	}
	c.admin.history.close(m)
	was := c.phase
	c.phase.to(resting)
	if held := c.flight.heldResult; held != nil {
		c.takeResults(held, out)
		c.flight.heldResult = nil
		for _, id := range c.flight.heldReady {
			c.maskReady(id)
		}
		c.flight.heldReady = c.flight.heldReady[:0]
	}
	c.sweep() // rows are closed on the device before their pages are used again
	switch was {
	case flushing:
		out.ToIntake(&messages.CacheFlushed{Ticket: c.admin.nextFlush(), Pages: m.Free - free})
	case settling:
		c.plan.id++
		c.commit(out)
	case committing:
		c.launch(out)
	}
}
