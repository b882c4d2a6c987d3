package dispatch

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

func (c *Core) Handle(now time.Duration, msg messages.ToDispatch, out *messages.Outbox) {
	c.now = now
	if !c.begun {
		c.begin(msg, out)
	}
	switch msg.(type) {
	case *messages.EnqueueRequests, *messages.FinishRequests, *messages.FlushCache,
		*messages.AuditSlots, *messages.DescribeCache, *messages.ListPages, *messages.FailEpoch:
		if messages.HeaderOf(msg) != c.own { // for an earlier incarnation
			out.Record(messages.StaleMessages, 1)
			return
		}
	}
	switch m := msg.(type) {
	// of intake
	case *messages.EnqueueRequests:
		c.enqueue(m.Requests, out)
	case *messages.FinishRequests:
		c.finish(m.IDs, out)
	case *messages.FlushCache:
		c.flush(m, out)
	case *messages.AuditSlots:
		c.audit(m, out)
	case *messages.DescribeCache:
		c.describe(m, out)
	case *messages.FailEpoch:
		c.startOver(m, out)
	// of both
	case *messages.StepResults:
		if m.Engine == Self {
			c.returned(m, out)
		} else {
			c.relay(m, out)
		}
	case *messages.ResumeDue:
		c.resumeDue(m, out)
	// of links
	case *messages.EngineJoined:
		c.join(m, out)
	case *messages.EngineLeft:
		c.leave(m, out)
	case *messages.EngineReported:
		c.reported(m, out)
	// of an engine
	case *messages.EpochStarted:
		c.engineUp(m.Header, out)
	case *messages.EpochEnded:
		c.engineEnded(m, out)
	case *messages.ListPages:
		c.listPages(m, out)
	case *messages.PagesListed:
		c.pagesListed(m, out)
	case *messages.CacheChanged:
		c.cacheChanged(m, out)
	case *messages.CacheFlushed:
		c.answered(m.Header, m.Ticket, func(q *question) { q.sum.(*messages.CacheFlushed).Pages += m.Pages }, out)
	case *messages.FlushRefused:
		c.answered(m.Header, m.Ticket, func(q *question) { q.running += m.Running }, out)
	case *messages.SlotsAudited:
		c.answered(m.Header, m.Ticket, func(q *question) { addAudit(q.sum.(*messages.SlotsAudited), m) }, out)
	case *messages.CacheDescribed:
		c.answered(m.Header, m.Ticket, func(q *question) { q.sum.(*messages.CacheDescribed).View.(*Views).add(m) }, out)
	default:
		invariants.Fail("dispatch got a %T", msg)
	}
	if invariants.Enabled {
		c.check()
	}
}
