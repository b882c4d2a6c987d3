package runner

import (
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// core passes steps to the executor, which computes them in order, and remembers whose
// they are.
type core struct {
	executor Executor
	rows     map[messages.Row]messages.RequestID // as of the newest step submitted
	watchdog watchdog

	// How far the executor is. Its callbacks write this, on goroutines of the executor.
	ended   atomic.Uint64 // the newest step that has ended; steps end in order
	endedAt atomic.Int64  // when
	failed  atomic.Bool   // nothing more is computed or answered in this epoch

	// Safe from any goroutine.
	answer func(messages.ToFormer)
	clock  func() time.Duration
}

func (c *core) Handle(now time.Duration, msg messages.ToRunner, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.RunBatch:
		c.runBatch(now, m, out)
	case *messages.WatchdogDue:
		c.watchdogDue(now, out)
	default:
		invariants.Fail("the runner got a %T", msg)
	}
}

// runBatch submits a step. Another one may be running.
func (c *core) runBatch(now time.Duration, m *messages.RunBatch, out *messages.Outbox) {
	if c.failed.Load() {
		return // the epoch is about to end
	}
	for _, row := range m.Closed {
		delete(c.rows, row)
	}
	for _, o := range m.Opened {
		c.rows[o.Row] = o.Request.ID
	}
	c.watchdog.watch(now, m, messages.StepID(c.ended.Load()), out)
	header, step := m.Header, m.Step
	c.executor.Submit(m, func(done *messages.BatchDone, err error) {
		// Before the answer, which leads to the step after the next.
		c.endedAt.Store(int64(c.clock()))
		c.ended.Store(uint64(step))
		switch {
		case err == nil:
			c.answer(done)
		case c.failed.CompareAndSwap(false, true): // a step after a failed one fails as well
			c.answer(&messages.BatchFailed{Header: header, Step: step, Reason: err.Error(), Sticky: isSticky(err)})
		}
	})
}

// Suspects names the requests with work in the step that the message launches; not
// those of the running step, which the message does not concern.
func (c *core) Suspects(msg messages.ToRunner) []messages.RequestID {
	m, is := msg.(*messages.RunBatch)
	if !is {
		return nil
	}
	ids := make([]messages.RequestID, 0, len(m.Work))
	for _, w := range m.Work {
		id, ok := c.rows[w.Row] // before or after the deltas were applied
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
