package load

import (
	"sync"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
)

// Live is the state of a load while it runs. Safe for concurrent use.
type Live struct {
	mu   sync.Mutex
	now  Reading
	peak int
	ttft measure.Histogram
}

// Reading is a copy of the state.
type Reading struct {
	Finished, Failed, Running int
	Tokens                    int           // streamed chunks
	TTFT                      time.Duration // median so far, 0 before the first token
}

func (l *Live) Read() Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.now
	r.TTFT = l.ttft.Quantile(.5)
	return r
}

func (l *Live) first(ttft time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ttft.Add(ttft)
}

func (l *Live) tokens(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Tokens += n
}

func (l *Live) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Running++
	l.peak = max(l.peak, l.now.Running)
}

func (l *Live) end(r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Running--
	switch r.Outcome {
	case Finished:
		l.now.Finished++
	case Failed:
		l.now.Failed++
	}
}
