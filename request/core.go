package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// CoreOptions are the seams of a core.
type CoreOptions struct {
	Detokenizer Detokenizer
	Sink        Sink // nil means Channels
}

// Core is one incarnation of intake over a table. Everything in it may be lost.
type Core struct {
	table *Table
	detok Detokenizer
	sink  Sink

	// Scratch of one Step, reused.
	changes   []change
	fresh     []*entry             // to be submitted, if still wanted
	cancelled []messages.RequestID // to be finished in the engine
	current   *entry               // whose change is being computed
	openSeen  int                  // the last RequestsOpen reading, -1: none
	waitSeen  time.Duration        // the last QueueWait reading, -1: none
	alarm     alarm
}

// NewCore makes a core over a table that no other core uses any more.
func NewCore(table *Table, opt CoreOptions) *Core {
	if opt.Sink == nil {
		opt.Sink = Channels{}
	}
	return &Core{table: table, detok: opt.Detokenizer, sink: opt.Sink, openSeen: -1, waitSeen: -1}
}

// Step takes one message. Events for clients go to the sink at once, everything
// else to out. See the package comment for what a panic in it leaves behind.
func (c *Core) Step(now time.Duration, msg messages.ToIntake, out *messages.Outbox) {
	c.current = nil
	c.table.pace.pass(now, c.table.occupied())
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
		c.startEpoch(m.Header, out)
	case *messages.EpochEnded:
		c.endEpoch(now, m, out)
	case *messages.AskCacheFlush:
		c.askFlush(m, out)
	case *messages.AskAudit:
		c.askAudit(m, out)
	case *messages.AskCacheTree:
		c.askTree(m, out)
	case *messages.CacheDescribed:
		c.tookTicket(m.Header, m.Ticket, out, func(t ticket) { t.described(m) })
	case *messages.CacheFlushed:
		c.tookTicket(m.Header, m.Ticket, out, func(t ticket) { t.flushed("") })
	case *messages.FlushRefused:
		c.tookTicket(m.Header, m.Ticket, out, func(t ticket) {
			t.flushed(fmt.Sprintf("the cache was not flushed: %d requests are running; try again when none is", m.Running))
		})
	case *messages.SlotsAudited:
		c.tookTicket(m.Header, m.Ticket, out, func(t ticket) { t.audited(m) })
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
	c.sendCancelled(out)
	c.conclude(now, out)
	if spent != nil {
		out.ToFormer(spent) // last, when nothing looks into it any more
	}
}

// conclude ends a Step: gauges, the next deadline, and the drain when nothing
// is open any more.
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

// Suspects names the request whose change was being computed when Step
// panicked on msg; none if the fault was not in one request's part.
func (c *Core) Suspects(messages.ToIntake) []messages.RequestID {
	if c.current == nil {
		return nil
	}
	return []messages.RequestID{c.current.id}
}

// failEpoch asks for a new epoch, since the engine's messages make no sense.
// Nothing more of this one counts, so no request can lose or repeat a token.
func (c *Core) failEpoch(out *messages.Outbox, format string, args ...any) {
	c.table.broken = true
	out.ToEngine(&messages.FailEpoch{Header: c.table.engine, From: messages.Intake, Cause: fmt.Sprintf(format, args...)})
}

// submitFresh hands requests that became ready to the epoch that stands. One
// that ended in the same Step has no need of it. While a quarantined request is
// isolated the others wait: whatever crashes then is its own doing.
func (c *Core) submitFresh(out *messages.Outbox) {
	t := c.table
	if !t.standing {
		return
	}
	if t.isolated != 0 {
		if e := t.entries[t.isolated]; e != nil && e.place == placeEngine && c.quarantined(e) {
			return
		}
		t.isolated = 0
		c.takeWaiting()
	}
	var requests []*messages.EngineRequest
	for _, e := range c.fresh {
		if e.place != placeWaiting || e.finish != nil {
			continue
		}
		if c.quarantined(e) {
			t.isolated = e.id
			requests = append(requests[:0], c.engineRequest(e))
			break
		}
	}
	for _, e := range c.fresh {
		if t.isolated == 0 && e.place == placeWaiting && e.finish == nil {
			requests = append(requests, c.engineRequest(e))
		}
	}
	if len(requests) > 0 {
		out.ToQueue(&messages.EnqueueRequests{Header: t.engine, Requests: requests})
	}
}

// takeWaiting makes every waiting request fresh, in arrival order.
func (c *Core) takeWaiting() {
	c.fresh = c.fresh[:0]
	for _, e := range c.table.inOrder() {
		if e.place == placeWaiting {
			c.fresh = append(c.fresh, e)
		}
	}
}

// quarantined says that a request was in too many crashes without progress.
func (c *Core) quarantined(e *entry) bool { return e.suspicion >= c.table.opt.SuspectLimit }

// engineRequest freezes a request as it stands and puts it into the engine.
func (c *Core) engineRequest(e *entry) *messages.EngineRequest {
	e.become(placeEngine)
	e.cancelled = false
	return &messages.EngineRequest{ID: e.id, Prompt: e.sub.Prompt, Output: e.output[:len(e.output):len(e.output)],
		Params: e.params, Namespace: e.sub.Namespace, Priority: e.sub.Priority, Tenant: e.sub.Tenant, Arrived: e.arrived, Alone: c.quarantined(e)}
}

// sendCancelled asks the engine to let go of requests, one message per Step.
func (c *Core) sendCancelled(out *messages.Outbox) {
	if len(c.cancelled) > 0 {
		out.ToQueue(&messages.FinishRequests{Header: c.table.engine, IDs: append([]messages.RequestID(nil), c.cancelled...)})
	}
}
