package dispatch

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Handle handles one message.
func (c *Core) Handle(now time.Duration, msg messages.ToDispatch, out *messages.Outbox) {
	switch m := msg.(type) {
	// of intake
	case *messages.EnqueueRequests:
		if c.ofIntake(m.Header, out) {
			c.enqueue(now, m.Requests, out)
		}
	case *messages.FinishRequests:
		if c.ofIntake(m.Header, out) {
			c.finish(m.IDs, out)
		}
	case *messages.FlushCache:
		if c.ofIntake(m.Header, out) {
			c.flush(m, out)
		}
	case *messages.AuditSlots:
		if c.ofIntake(m.Header, out) {
			c.audit(m, out)
		}
	case *messages.DescribeCache:
		if c.ofIntake(m.Header, out) {
			c.describe(m, out)
		}
	// of both
	case *messages.StepResults:
		if m.Engine == Self {
			c.returned(m, out)
		} else {
			c.relay(m, out)
		}
	case *messages.FailEpoch:
		if c.ofIntake(m.Header, out) {
			c.startOver(m.Cause, m.Suspects, out)
		}
	// of an engine
	case *messages.EpochStarted:
		c.engineUp(now, m.Header, out)
	case *messages.EpochEnded:
		c.engineEnded(m, out)
	case *messages.CacheChanged:
		c.cacheChanged(now, m, out)
	case *messages.CacheFlushed:
		c.answered(m.Header, m.Ticket, func(q *question) { q.flushed.Pages += m.Pages }, out)
	case *messages.FlushRefused:
		c.answered(m.Header, m.Ticket, func(q *question) { q.refused.Running += m.Running }, out)
	case *messages.SlotsAudited:
		c.answered(m.Header, m.Ticket, func(q *question) { addAudit(q.audited, m) }, out)
	case *messages.CacheDescribed:
		c.answered(m.Header, m.Ticket, func(q *question) {
			q.views.Engines = append(q.views.Engines, EngineView{m.Engine, m.View})
		}, out)
	default:
		invariants.Fail("dispatch got a %T", msg)
	}
	if invariants.Enabled {
		c.check()
	}
}

// ofIntake reports whether intake speaks to this incarnation.
func (c *Core) ofIntake(h messages.Header, out *messages.Outbox) bool {
	if h != c.own {
		out.Record(messages.StaleMessages, 1)
		return false
	}
	return true
}
