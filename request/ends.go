package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// cancel asks the engine to let go of a request, once.
func (c *Core) cancel(e *entry) {
	if !e.cancelled {
		e.cancelled = true
		c.cancelled = append(c.cancelled, e.id)
	}
}

// abortEntry ends a request from outside.
func (c *Core) abortEntry(now time.Duration, e *entry, why string, out *messages.Outbox) {
	c.endOutside(now, e, &messages.Finish{Reason: messages.FinishAbort, MatchedToken: -1, Message: why}, out)
}

func (c *Core) endOutside(now time.Duration, e *entry, f *messages.Finish, out *messages.Outbox) {
	if e.finish != nil {
		return
	}
	if e.place == placeEngine {
		c.cancel(e)
	}
	c.fixEnd(now, e, f, out)
}

// abort ends the calls that it names. Their clients are told.
func (c *Core) abort(now time.Duration, m *messages.AbortRequests, out *messages.Outbox) {
	calls := c.table.named(m)
	for _, k := range calls {
		for _, e := range k.entries {
			f := &messages.Finish{Reason: messages.FinishAbort, MatchedToken: -1, Message: "the request was aborted"}
			if m.ShuttingDown {
				f = &messages.Finish{Reason: messages.FinishError, Kind: messages.RefusedDraining, MatchedToken: -1, RetryAfterSeconds: 1,
					Message: "the server shut down before the request was finished; send it to another one"}
			}
			c.endOutside(now, e, f, out)
		}
	}
	for _, k := range calls {
		c.emitCall(k)
	}
}

// dropCall ends the requests of a client that has gone. Nothing is delivered
// any more, and its UserID is free again at once.
func (c *Core) dropCall(now time.Duration, id messages.CallID, out *messages.Outbox) {
	k := c.table.calls[id]
	if k == nil {
		return
	}
	for _, e := range k.entries {
		c.abortEntry(now, e, "the client has gone", out)
	}
	k.gone = true
	c.table.closeCall(k)
	for _, e := range k.entries {
		e.forgetReady()
		c.table.settle(e)
	}
}
