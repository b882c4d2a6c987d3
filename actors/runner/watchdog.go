package runner

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// watchdog notices a step that never ends. It has one timer, however many steps: if the
// timer fires early for the running step, it is set again for the rest of the step's
// time; if no step runs, the next step sets it.
type watchdog struct {
	timeout time.Duration // 0: no limit
	set     bool          // a timer is out
	steps   []watched     // in flight, oldest first, and perhaps some that have ended
}

// watched is a submitted step.
type watched struct {
	step  messages.StepID
	since time.Duration // when it was submitted
	// rows with work in it. A copy: the message returns to its sender after the step.
	rows []messages.Row
}

// watch adds a step that is submitted now; done is the newest that has ended.
func (w *watchdog) watch(now time.Duration, m *messages.RunBatch, done messages.StepID, out *messages.Outbox) {
	if w.timeout == 0 {
		return
	}
	w.forget(done)
	n := len(w.steps)
	if n == cap(w.steps) {
		w.steps = append(w.steps, watched{})
	}
	w.steps = w.steps[:n+1] // with the memory of an earlier step
	s := &w.steps[n]
	s.step, s.since, s.rows = m.Step, now, s.rows[:0]
	for i := range m.Work {
		s.rows = append(s.rows, m.Work[i].Row)
	}
	w.alarm(w.timeout, out)
}

// forget drops the steps that have ended and keeps their memory.
func (w *watchdog) forget(done messages.StepID) {
	for len(w.steps) > 0 && w.steps[0].step <= done {
		first, last := w.steps[0], len(w.steps)-1
		copy(w.steps, w.steps[1:])
		w.steps[last] = first
		w.steps = w.steps[:last]
	}
}

func (w *watchdog) alarm(after time.Duration, out *messages.Outbox) {
	if w.set {
		return
	}
	w.set = true
	out.After(after, &messages.WatchdogDue{})
}

// watchdogDue ends the epoch if the running step has used up its time, counted from its
// submission or from the end of the previous step.
func (c *core) watchdogDue(now time.Duration, out *messages.Outbox) {
	w := &c.watchdog
	w.set = false
	done := messages.StepID(c.ended.Load())
	at := time.Duration(c.endedAt.Load()) // not before that of done, which was written after it
	if w.forget(done); c.failed.Load() || len(w.steps) == 0 {
		return
	}
	s := &w.steps[0]
	since := max(s.since, at)
	if rest := since + w.timeout - now; rest > 0 {
		w.alarm(rest, out)
		return
	}
	c.failed.Store(true)
	suspects := make([]messages.RequestID, 0, len(s.rows))
	for _, row := range s.rows {
		if id, ok := c.rows[row]; ok {
			suspects = append(suspects, id)
		}
	}
	out.Record(messages.WatchdogTimeouts, 1)
	out.ToSupervisor(&messages.FailEpoch{From: messages.Runner, Suspects: suspects,
		Cause: fmt.Sprintf("step %d (requests: %d) has run for %v, longer than watchdog-timeout (%v); raise the timeout if steps may take that long, or lower chunked-prefill-size",
			s.step, len(s.rows), now-since, w.timeout)})
}
