package load

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
)

// Live is what a load has done so far, to be shown while it runs. Safe for
// concurrent use.
type Live struct {
	finished, failed, running, peak, tokens atomic.Int64

	mu   sync.Mutex
	ttft measure.Histogram
}

// Reading is what Live shows at one moment.
type Reading struct {
	Finished, Failed, Running int64
	Tokens                    int64         // streamed chunks
	TTFT                      time.Duration // median so far, 0 before the first token
}

// Read takes a reading.
func (l *Live) Read() Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Reading{Finished: l.finished.Load(), Failed: l.failed.Load(), Running: l.running.Load(), Tokens: l.tokens.Load(), TTFT: l.ttft.Quantile(.5)}
}

// first notes a TTFT.
func (l *Live) first(ttft time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ttft.Add(ttft)
}

func (l *Live) begin() {
	running := l.running.Add(1)
	for {
		peak := l.peak.Load()
		if running <= peak || l.peak.CompareAndSwap(peak, running) {
			return
		}
	}
}

func (l *Live) end(r *Record) {
	l.running.Add(-1)
	switch r.Outcome {
	case Finished:
		l.finished.Add(1)
	case Failed:
		l.failed.Add(1)
	}
}
