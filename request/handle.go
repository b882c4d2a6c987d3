package request

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Handle handles one message. Events for clients go to the sink at once, all other
// effects to out. For panics see the package comment.
func (c *Core) Handle(now time.Duration, msg messages.ToIntake, out *messages.Outbox) {
	c.current = nil
	c.table.throughput.advance(now, c.table.occupied())
	clear(c.changes)
	clear(c.fresh)
	c.changes, c.fresh, c.cancelled = c.changes[:0], c.fresh[:0], c.cancelled[:0]

	var spent *messages.StepResults
	switch m := msg.(type) {
	case *messages.StepResults:
		if c.takeResults(now, m, out) {
			spent = m
		}
	case *messages.SubmitRequests:
		c.submit(now, m, out)
	case *messages.ResumeOutput:
		c.resume(m.Call)
	case *messages.DropCall:
		c.dropCall(now, m.Call, out)
	case *messages.AbortRequests:
		c.abort(now, m, out)
	case *messages.EpochStarted:
		c.startEpoch(m, out)
	case *messages.EpochEnded:
		c.endEpoch(now, m, out)
	case *messages.AskCacheFlush, *messages.AskAudit, *messages.AskSnapshot, *messages.AskCacheTree:
		c.ask(msg, out)
	case *messages.CacheDescribed:
		if q, ok := asked[*messages.AskCacheTree](c, m.Header, m.Ticket, out); ok {
			if m.View == nil { // none of several engines was up
				m = nil
			}
			answer(q.Reply, m)
		}
	case *messages.CacheFlushed:
		if q, ok := asked[*messages.AskCacheFlush](c, m.Header, m.Ticket, out); ok {
			answer(q.Reply, "")
		}
	case *messages.FlushRefused:
		if q, ok := asked[*messages.AskCacheFlush](c, m.Header, m.Ticket, out); ok {
			why := restarting
			if m.Running > 0 {
				why = fmt.Sprintf("the cache was not flushed: %d requests are running; try again when none are", m.Running)
			}
			answer(q.Reply, why)
		}
	case *messages.SlotsAudited:
		c.audited(now, m, out)
	case *messages.DeadlinesDue:
		c.endOverdue(now, m, out)
	case *messages.ConfigureIntake:
		c.configure(m)
	case *messages.DrainIntake:
		c.table.draining = true
		c.table.drained = append(c.table.drained, m.Done)
	default:
		invariants.Check(!invariants.Enabled, "intake got a %T", msg)
		out.Record(messages.StaleMessages, 1)
	}
	c.submitFresh(out)
	if len(c.cancelled) > 0 {
		out.ToQueue(&messages.FinishRequests{Header: c.table.engine.header, IDs: slices.Clone(c.cancelled)})
	}
	c.conclude(now, out)
	if spent != nil {
		out.ToFormer(spent) // last: its memory must not be read after that
	}
}

// conclude ends Handle: the next deadline, gauges, and a drain's end if nothing is open.
func (c *Core) conclude(now time.Duration, out *messages.Outbox) {
	t := c.table
	c.setAlarm(now, out)
	if len(t.entries) != c.openSeen {
		c.openSeen = len(t.entries)
		out.Record(messages.RequestsOpen, float64(c.openSeen))
	}
	if wait := t.wait(&messages.Submission{}).Round(time.Second); wait != c.waitSeen {
		c.waitSeen = wait
		out.Record(messages.QueueWait, wait.Seconds())
	}
	if t.draining && len(t.entries) == 0 {
		for _, done := range t.drained {
			close(done)
		}
		t.drained = nil
	}
	if invariants.Enabled {
		t.check()
	}
}

// Suspects names the request, if any, whose change was computed when Handle panicked.
func (c *Core) Suspects(messages.ToIntake) []messages.RequestID {
	if c.current == nil {
		return nil
	}
	return []messages.RequestID{c.current.id}
}

// Abandon answers the client of a message on which Handle has panicked and which is not
// handled again, unless the table has the call and will answer it.
func (c *Core) Abandon(msg messages.ToIntake) {
	const why = "the server failed before the request was accepted; send it again"
	m, ok := msg.(*messages.SubmitRequests)
	if !ok {
		refuseQuestion(msg, why)
		return
	}
	if c.table.calls[m.Call] == nil && c.sink.Room(m.Events) > 0 {
		c.sink.Deliver(m.Events, &messages.CallRefused{Call: m.Call, Kind: messages.RefusedInternal, Message: why, Loggable: true, Code: "internal_error"})
	}
}
