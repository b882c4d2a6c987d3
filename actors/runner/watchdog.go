package runner

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// watchdog notices a step that never ends. It has one timer at a time, whatever
// the number of steps: the timer that finds a younger step than its own, or
// none, is early; then it is set again for the rest of that step's time, or by
// the next step.
type watchdog struct {
	timeout time.Duration // 0: no limit
	set     bool          // a timer is out
	// Of the step that was submitted last.
	step  messages.StepID
	since time.Duration
	// rows that work in it. A copy: the message is its sender's again when the
	// step is done, which may be before the runner hears of it.
	rows []messages.Row
}

// watch takes the step that is submitted now.
func (w *watchdog) watch(now time.Duration, m *messages.RunBatch, out *messages.Outbox) {
	if w.timeout == 0 {
		return
	}
	w.step, w.since, w.rows = m.Step, now, w.rows[:0]
	for i := range m.Work {
		w.rows = append(w.rows, m.Work[i].Row)
	}
	w.alarm(w.timeout, out)
}

func (w *watchdog) alarm(after time.Duration, out *messages.Outbox) {
	if w.set {
		return
	}
	w.set = true
	out.After(after, &messages.WatchdogDue{})
}

// watchdogDue ends the epoch if the step under way has had its time.
func (c *core) watchdogDue(now time.Duration, out *messages.Outbox) {
	w := &c.watchdog
	w.set = false
	if !c.busy || c.failed {
		return
	}
	if rest := w.since + w.timeout - now; rest > 0 {
		w.alarm(rest, out)
		return
	}
	c.failed = true
	suspects := make([]messages.RequestID, 0, len(w.rows))
	for _, row := range w.rows {
		if id, ok := c.rows[row]; ok {
			suspects = append(suspects, id)
		}
	}
	out.Record(messages.WatchdogTimeouts, 1)
	out.ToEngine(&messages.FailEpoch{From: messages.Runner, Suspects: suspects,
		Cause: fmt.Sprintf("step %d of %d rows has been on the device for %v, watchdog-timeout is %v; raise it if steps may take so long, or lower chunked-prefill-size",
			w.step, len(w.rows), now-w.since, w.timeout)})
}
