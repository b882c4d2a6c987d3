package node

import (
	"time"

	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// slowed is an Executor whose steps take at least a time (debug-step-time).
type slowed struct {
	runner.Executor
	least time.Duration
}

// withStepTime returns e if least is 0.
func withStepTime(e runner.Executor, least time.Duration) runner.Executor {
	if least == 0 {
		return e
	}
	return &slowed{e, least}
}

// Submit implements runner.Executor. Ends are delayed one by one, so they stay in order.
func (s *slowed) Submit(batch *messages.RunBatch, done func(*messages.BatchDone, error)) {
	begun := time.Now()
	s.Executor.Submit(batch, func(result *messages.BatchDone, err error) {
		time.Sleep(s.least - time.Since(begun)) // on a goroutine of the executor
		done(result, err)
	})
}
