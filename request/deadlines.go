package request

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// alarm is the timers that are out for deadlines. It belongs to one
// incarnation: the next one sets its own, and one too many does no harm.
type alarm struct {
	// out is when they are due, the next one last. A second one is set when a
	// request that waits has to be ended before the one the first is for.
	out []time.Duration
	// settled: no deadline comes before the next timer. A new request or a
	// timer that is due changes that.
	settled bool
}

// leastPause is between two looks at the deadlines, so that many which follow
// each other closely cost one look.
const leastPause = 10 * time.Millisecond

// deadline is when an entry's time is over, whichever comes first: waiting for
// admission or altogether. False: never. A call waits until its first request is
// admitted; then it is being worked on, and the others take their turn however
// long that is.
func (t *Table) deadline(e *entry) (at time.Duration, ok bool) {
	if e.finish != nil {
		return 0, false
	}
	if d := e.call.requestTimeout; d > 0 {
		at, ok = e.arrived+d, true
	}
	if d := e.call.queueTimeout; d > 0 && e.waitsForCall() && (!ok || e.arrived+d < at) {
		at, ok = e.arrived+d, true
	}
	return at, ok
}

// waitsForCall: nothing of the call was admitted yet.
func (e *entry) waitsForCall() bool { return e.waits && !e.call.begun }

// setAlarm asks to be woken up at the next deadline, if that may have changed.
func (c *Core) setAlarm(now time.Duration, out *messages.Outbox) {
	t := c.table
	if c.alarm.settled {
		return
	}
	c.alarm.settled = true
	next, any := time.Duration(0), false
	for _, e := range t.entries {
		if at, ok := t.deadline(e); ok && (!any || at < next) {
			next, any = at, true
		}
	}
	if any {
		c.wakeAt(now, next, out)
	}
}

// wakeAt sets a timer, unless one is due before.
func (c *Core) wakeAt(now, at time.Duration, out *messages.Outbox) {
	at = max(at, now+leastPause)
	if n := len(c.alarm.out); n == 0 || at < c.alarm.out[n-1] {
		c.alarm.out = append(c.alarm.out, at)
		out.After(at-now, &messages.DeadlinesDue{At: at})
	}
}

// endOverdue ends the requests whose time is over.
func (c *Core) endOverdue(now time.Duration, m *messages.DeadlinesDue, out *messages.Outbox) {
	c.alarm.settled = false
	if i := slices.Index(c.alarm.out, m.At); i >= 0 {
		c.alarm.out = slices.Delete(c.alarm.out, i, i+1)
	}
	t := c.table
	for _, e := range t.inOrder() {
		at, ok := t.deadline(e)
		if !ok || now < at {
			continue
		}
		queued, whole := e.call.queueTimeout, e.call.requestTimeout
		why := fmt.Sprintf("the request was not finished within %s (request-timeout); ask for fewer tokens or send it again later", whole)
		if e.waitsForCall() && (whole == 0 || queued > 0 && queued <= whole) {
			why = fmt.Sprintf("the request waited longer than %s for its turn (queue-timeout); send it again later", queued)
		}
		c.giveUp(now, e, messages.RefusedTimeout, why, out)
	}
}

// giveUp ends a request that the server cannot serve in time.
func (c *Core) giveUp(now time.Duration, e *entry, kind messages.RefusalKind, why string, out *messages.Outbox) {
	if e.place == placeEngine {
		c.cancel(e)
	}
	c.fixEnd(now, e, &messages.Finish{
		Reason: messages.FinishError, MatchedToken: -1, Message: why, Kind: kind, RetryAfterSeconds: c.table.pause(&e.sub, 1),
	}, out)
	c.emit(e)
	c.table.settle(e)
}
