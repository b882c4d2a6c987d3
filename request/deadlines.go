package request

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// leastPause between two scans makes many close deadlines cost one scan.
const leastPause = 10 * time.Millisecond

// never is after every deadline.
const never = time.Duration(math.MaxInt64)

// deadline is when an entry times out: by QueueTimeout or by RequestTimeout, whichever
// comes first. QueueTimeout applies to a call until its first request is admitted; then
// the call is being worked on, and its other requests may wait longer.
func (t *Table) deadline(e *entry) time.Duration {
	at := never
	if e.finish != nil {
		return at
	}
	if d := e.call.requestTimeout; d > 0 {
		at = e.arrived + d
	}
	if d := e.call.queueTimeout; d > 0 && e.waitsForCall() {
		at = min(at, e.arrived+d)
	}
	return at
}

// setAlarm sets a timer for the next deadline, if that may have changed.
func (c *Core) setAlarm(now time.Duration, out *messages.Outbox) {
	t := c.table
	if c.settled {
		return
	}
	c.settled = true
	next := never
	for _, e := range t.entries {
		next = min(next, t.deadline(e))
	}
	c.wakeAt(now, next, out)
}

// wakeAt sets a timer for a deadline, unless one fires before.
func (c *Core) wakeAt(now, at time.Duration, out *messages.Outbox) {
	at = max(at, now+leastPause)
	if n := len(c.due); at < never && (n == 0 || at < c.due[n-1]) {
		c.due = append(c.due, at)
		out.After(at-now, &messages.DeadlinesDue{At: at})
	}
}

// endOverdue ends the requests that have timed out.
func (c *Core) endOverdue(now time.Duration, m *messages.DeadlinesDue, out *messages.Outbox) {
	c.settled = false
	if i := slices.Index(c.due, m.At); i >= 0 {
		c.due = slices.Delete(c.due, i, i+1)
	}
	t := c.table
	for _, e := range t.inOrder() {
		if now < t.deadline(e) {
			continue
		}
		queued, whole := e.call.queueTimeout, e.call.requestTimeout
		why := fmt.Sprintf("the request was not finished within %s (request-timeout); ask for fewer tokens or send it again later", whole)
		waited := e.waitsForCall() && (whole == 0 || queued > 0 && queued <= whole)
		if waited {
			why = fmt.Sprintf("the request waited longer than %s for admission (queue-timeout); send it again later", queued)
		}
		c.endEarly(now, e, messages.Finish{
			Reason: messages.FinishError, MatchedToken: -1, Message: why, Kind: messages.RefusedTimeout, RetryAfterSeconds: c.table.pause(&e.sub, 1),
			Final: !waited,
		}, out)
		c.deliver(e)
	}
}
