package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// release ends a sequence's use of its lease. The caller changes state and running batch.
func (c *Core) release(s *sequence) {
	row := s.lease.Row
	c.pages.release(s, c.flight.done)
	c.batch.byRow[row] = nil
	if s.opened {
		c.flight.closedRows = append(c.flight.closedRows, row)
	}
	c.admission.unblock()
	c.flight.planBlocked = false
}

func (c *Core) drop(s *sequence) {
	c.pressure.ended(s)
	c.batch.drop(s)
}

// retract takes leases away. The sequences keep their tokens, and are admitted again
// before new requests of their rank.
func (c *Core) retract(victims []victim, out *messages.Outbox) {
	if len(victims) == 0 {
		return
	}
	for i := range victims {
		s := victims[i].s
		invariants.Check(c.flight.idle() && s.pending == 0, "request %d is retracted while step %d is in flight", s.req.ID, c.flight.step)
		c.release(s)
		c.batch.retract(s, c.now)
		out.Record(messages.Retractions, 1)
	}
	c.batch.prune(retracted)
	c.plan.retracted = true
}

// sweep releases cancelled and closing sequences whose leases no step and no plan uses.
func (c *Core) sweep() {
	if c.batch.closing == 0 || c.phase.committed() || c.phase == failed {
		return
	}
	for _, s := range c.batch.running {
		if s.active() || !s.lease.Settled(c.flight.done) {
			continue
		}
		if s.state == cancelled {
			c.reports.end(s.req.ID)
		}
		c.release(s)
		c.drop(s)
		c.batch.closing--
	}
	c.batch.prune(gone)
}

// finish handles requests whose end intake has decided.
func (c *Core) finish(ids []messages.RequestID) {
	for _, id := range ids {
		c.admission.ended(id)
		if c.phase == locking && c.admission.endCandidate(id) {
			continue // reported when its lock is known
		}
		s := c.batch.byID[id]
		switch {
		case s == nil:
			c.reports.end(id)
		case s.state == retracted:
			c.end(s)
		case s.active():
			s.state = cancelled
			c.batch.closing++
		default:
			invariants.Check(s.state == cancelled, "request %d is %s and finished", id, s.state)
		}
	}
}

// end ends a sequence without a lease: it was retracted, or is a new candidate.
func (c *Core) end(s *sequence) {
	if s.state == retracted {
		c.drop(s)
	}
	s.state = gone
	c.reports.end(s.req.ID)
}
