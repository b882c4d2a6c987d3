package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// cancel asks the engine to release a request, once.
func (c *Core) cancel(e *entry) {
	if !e.cancelled {
		e.cancelled = true
		c.cancelled = append(c.cancelled, e.id)
	}
}

// releaseFollowers makes the requests ready that waited for this one's first token.
func (c *Core) releaseFollowers(e *entry) {
	for _, f := range e.call.entries {
		if f.place == placeHeld && f.sub.After == e.index {
			f.become(placeWaiting)
			c.fresh = append(c.fresh, f)
		}
	}
}

// finish writes the end that the client sees, once.
func (c *Core) finish(now time.Duration, e *entry, f messages.Finish, out *messages.Outbox) {
	t := c.table
	t.unqueue(e)
	t.countEnd(e)
	if f.Reason == messages.FinishAbort || f.Reason == messages.FinishError {
		e.text.add(e.held)
		e.final += len(e.held)
		e.held = ""
		e.releaseTokens(true)
	}
	e.finish = &f
	if e.moved {
		t.moves.settle(e, out)
	}
	e.usage = e.usageNow()
	e.stream, e.stops = nil, nil
	if e.place == placeHeld || e.place == placeWaiting {
		e.become(placeNone)
	}
	c.releaseFollowers(e)
	out.Record(messages.RequestLatency, (now - e.arrived).Seconds())
	switch {
	case f.Reason == messages.FinishAbort || f.Kind == messages.RefusedDraining:
		out.Record(messages.RequestsAborted, 1)
	case f.Kind == messages.RefusedTimeout:
		out.Record(messages.RequestsTimedOut, 1)
	case f.Kind == messages.RefusedBusy:
		out.Record(messages.RequestsDisplaced, 1)
	case f.Reason == messages.FinishError:
		out.Record(messages.RequestsFailed, 1)
	}
}

// endEarly ends a request for a reason other than its output, unless it has ended.
func (c *Core) endEarly(now time.Duration, e *entry, f messages.Finish, out *messages.Outbox) {
	if e.finish != nil {
		return
	}
	if e.place == placeEngine {
		c.cancel(e)
	}
	c.finish(now, e, f, out)
}

// giveUp ends a request that the server cannot serve in time, and delivers the end.
func (c *Core) giveUp(now time.Duration, e *entry, kind messages.RefusalKind, why string, out *messages.Outbox) {
	c.endEarly(now, e, messages.Finish{
		Reason: messages.FinishError, MatchedToken: -1, Message: why, Kind: kind, RetryAfterSeconds: c.table.pause(&e.sub, 1),
	}, out)
	c.deliver(e)
}
