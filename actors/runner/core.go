package runner

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// core keeps the steps in order and says whose they are; the work itself is the
// executor's.
type core struct {
	executor Executor
	rows     map[messages.Row]messages.RequestID // as of the newest step submitted
	busy     bool                                // the executor has a step
	failed   bool                                // it computes nothing more
	waiting  []*messages.RunBatch                // in order
	watchdog watchdog

	// Safe from any goroutine.
	answer    func(messages.ToFormer)
	completed func(*messages.StepCompleted)
}

// Step implements shell.Core.
func (c *core) Step(now time.Duration, msg messages.ToRunner, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.RunBatch:
		c.runBatch(now, m, out)
	case *messages.StepCompleted:
		c.stepCompleted(now, m, out)
	case *messages.WatchdogDue:
		c.watchdogDue(now, out)
	default:
		invariants.Fail("the runner got a %T", msg)
	}
}

// maxWaiting: the one launched beside the step that runs, and another one when
// the batch former has heard sooner than the runner that a step is over.
const maxWaiting = 2

func (c *core) runBatch(now time.Duration, m *messages.RunBatch, out *messages.Outbox) {
	switch {
	case c.failed: // the epoch is about to end
	case c.busy:
		invariants.Check(len(c.waiting) < maxWaiting, "step %d came while one runs and %d wait", m.Step, len(c.waiting))
		c.waiting = append(c.waiting, m)
	default:
		c.submit(now, m, out)
	}
}

func (c *core) stepCompleted(now time.Duration, m *messages.StepCompleted, out *messages.Outbox) {
	c.busy, c.failed = false, c.failed || m.Failed
	if len(c.waiting) == 0 || c.failed {
		return
	}
	c.submit(now, c.waiting[0], out)
	// Not before: its requests are the suspects.
	last := len(c.waiting) - 1
	copy(c.waiting, c.waiting[1:])
	c.waiting[last] = nil
	c.waiting = c.waiting[:last]
}

// submit hands a step to the executor. Its answer is on the way to the batch
// former before the runner hears of it, so that answers keep the steps' order.
func (c *core) submit(now time.Duration, m *messages.RunBatch, out *messages.Outbox) {
	for _, row := range m.Closed {
		delete(c.rows, row)
	}
	for _, o := range m.Opened {
		c.rows[o.Row] = o.Request.ID
	}
	c.busy = true
	c.watchdog.watch(now, m, out)
	answer, completed, header, step := c.answer, c.completed, m.Header, m.Step
	c.executor.Submit(m, func(done *messages.BatchDone, err error) {
		if err != nil {
			answer(&messages.BatchFailed{Header: header, Step: step, Reason: err.Error(), Sticky: isSticky(err)})
		} else {
			answer(done)
		}
		completed(&messages.StepCompleted{Header: header, Step: step, Failed: err != nil})
	})
}

// Suspects names the requests that work in the step that the message leads to:
// not those of the one that runs, which the message did nothing to.
func (c *core) Suspects(msg messages.ToRunner) []messages.RequestID {
	switch m := msg.(type) {
	case *messages.RunBatch:
		return c.workers(m)
	case *messages.StepCompleted:
		if len(c.waiting) > 0 {
			return c.workers(c.waiting[0])
		}
	}
	return nil
}

// workers are the requests that work in a step, before or after its deltas were
// applied.
func (c *core) workers(m *messages.RunBatch) []messages.RequestID {
	ids := make([]messages.RequestID, 0, len(m.Work))
	for _, w := range m.Work {
		id, ok := c.rows[w.Row]
		for _, o := range m.Opened {
			if o.Row == w.Row {
				id, ok = o.Request.ID, true
			}
		}
		if ok {
			ids = append(ids, id)
		}
	}
	return ids
}
