package portal

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

func (c *Core) Handle(now time.Duration, msg messages.ToPortal, out *messages.Outbox) {
	c.now = now
	switch m := msg.(type) {
	// of links
	case *messages.GatewayJoined:
		c.join(m.Gateway, out)
	case *messages.GatewayLeft:
		c.leave(m.Gateway, out)
	case *messages.FailEpoch:
		c.startOver(m, out)
	case *messages.EnqueueRequests:
		if g := c.of(m.Header, out); g != nil {
			c.enqueue(g, m.Requests, out)
		}
	case *messages.FinishRequests:
		if g := c.of(m.Header, out); g != nil {
			c.finish(g, m.IDs, out)
		}
	case *messages.FlushCache:
		if g := c.of(m.Header, out); g != nil {
			out.ToFormer(&messages.FlushCache{Header: c.engine, Ticket: c.ask(g, m.Ticket)})
		}
	case *messages.AuditSlots:
		if g := c.of(m.Header, out); g != nil {
			out.ToFormer(&messages.AuditSlots{Header: c.engine, Ticket: c.ask(g, m.Ticket), Snapshot: m.Snapshot})
		}
	case *messages.DescribeCache:
		if g := c.of(m.Header, out); g != nil {
			out.ToCache(&messages.DescribeCache{Header: c.engine, Ticket: c.ask(g, m.Ticket), Limits: m.Limits})
		}
	// of the engine
	case *messages.EpochStarted:
		c.engineUp(m.Header, out)
	case *messages.EpochEnded:
		c.engineEnded(m, out)
	case *messages.StepResults:
		c.split(m, out)
	case *messages.CacheChanged:
		c.cacheChanged(m, out)
	case *messages.CacheFlushed:
		if q, ok := c.answered(m.Header, m.Ticket, out); ok {
			out.ToIntake(&messages.CacheFlushed{Header: q.header, Ticket: q.ticket, Pages: m.Pages})
		}
	case *messages.FlushRefused:
		if q, ok := c.answered(m.Header, m.Ticket, out); ok {
			out.ToIntake(&messages.FlushRefused{Header: q.header, Ticket: q.ticket, Running: m.Running})
		}
	case *messages.SlotsAudited:
		if q, ok := c.answered(m.Header, m.Ticket, out); ok {
			c.rename(q.gateway, m.Snapshots)
			out.ToIntake(&messages.SlotsAudited{Header: q.header, Ticket: q.ticket, OK: m.OK, Count: m.Count, Snapshots: m.Snapshots})
		}
	case *messages.CacheDescribed:
		if q, ok := c.answered(m.Header, m.Ticket, out); ok {
			out.ToIntake(&messages.CacheDescribed{Header: q.header, Ticket: q.ticket, View: m.View})
		}
	case *messages.PagesListed:
		c.listed(m, out)
	case *messages.ReportDue:
		c.report(m, out)
	default:
		invariants.Fail("portal got a %T", msg)
	}
	if invariants.Enabled {
		c.check()
		c.checkLoad()
	}
}
