package runner

import (
	"sync"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// progress is how far the executor is. Its callbacks write it, on goroutines of
// the executor; the core reads it.
type progress struct {
	mu     sync.Mutex
	step   messages.StepID // the newest that has ended
	at     time.Duration   // when
	failed bool            // nothing more is computed or answered in this epoch
}

// ended takes the end of a step. It reports whether this is the epoch's first
// failure: the step behind a failed one fails too, and nobody needs to hear of
// it.
func (p *progress) ended(step messages.StepID, now time.Duration, failed bool) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.at = max(p.step, step), now
	first = failed && !p.failed
	p.failed = p.failed || failed
	return first
}

func (p *progress) newest() messages.StepID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step
}

func (p *progress) hasFailed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// fail has nothing more computed.
func (p *progress) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
}
