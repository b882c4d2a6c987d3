package runner

import (
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// progress is how far the executor is. Its callbacks write it, on goroutines of
// the executor; the core reads it.
type progress struct {
	step   atomic.Uint64 // the newest that has ended; steps end in order
	at     atomic.Int64  // when
	failed atomic.Bool   // nothing more is computed or answered in this epoch
}

// ended takes the end of a step. It reports whether this is the epoch's first
// failure: the step behind a failed one fails too, and nobody needs to hear of
// it.
func (p *progress) ended(step messages.StepID, now time.Duration, failed bool) (first bool) {
	p.at.Store(int64(now))
	p.step.Store(uint64(step))
	return failed && p.failed.CompareAndSwap(false, true)
}

func (p *progress) newest() messages.StepID {
	return messages.StepID(p.step.Load())
}

func (p *progress) hasFailed() bool { return p.failed.Load() }

// fail has nothing more computed.
func (p *progress) fail() { p.failed.Store(true) }
