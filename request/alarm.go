package request

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// leastPause is the least time between two scans of the deadlines, so that many
// close deadlines cost one scan.
const leastPause = 10 * time.Millisecond

// alarm is the timers set for deadlines. Each incarnation of intake sets its
// own; a timer of an earlier one does no harm.
type alarm struct {
	// due are the times of the pending timers, the earliest one last. Another one
	// is set only for an earlier deadline.
	due []time.Duration
	// settled: no deadline is before the next timer. A timer that fires changes
	// that.
	settled bool
}

// wakeAt sets a timer for a deadline, unless one fires before.
func (a *alarm) wakeAt(now, at time.Duration, out *messages.Outbox) {
	at = max(at, now+leastPause)
	if n := len(a.due); n == 0 || at < a.due[n-1] {
		a.due = append(a.due, at)
		out.After(at-now, &messages.DeadlinesDue{At: at})
	}
}

// fired notes that a timer has fired.
func (a *alarm) fired(at time.Duration) {
	a.settled = false
	if i := slices.Index(a.due, at); i >= 0 {
		a.due = slices.Delete(a.due, i, i+1)
	}
}
