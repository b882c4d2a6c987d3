package load

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// liveTTFTs is over how many requests the shown median goes.
const liveTTFTs = 512

// Live is what a load has done so far, to be shown while it runs. Safe for
// concurrent use.
type Live struct {
	finished, failed, running, peak, tokens atomic.Int64

	mu    sync.Mutex
	ttfts []time.Duration // a ring of the newest
	next  int
}

// Reading is what Live shows at one moment.
type Reading struct {
	Finished, Failed, Running int64
	Tokens                    int64 // pieces of text that came
	TTFT                      time.Duration
}

// Read takes a reading. TTFT is the median of the newest requests, 0 before
// the first token.
func (l *Live) Read() Reading {
	l.mu.Lock()
	ttfts := slices.Clone(l.ttfts)
	l.mu.Unlock()
	r := Reading{Finished: l.finished.Load(), Failed: l.failed.Load(), Running: l.running.Load(), Tokens: l.tokens.Load()}
	if len(ttfts) > 0 {
		slices.Sort(ttfts)
		r.TTFT = ttfts[(len(ttfts)-1)/2]
	}
	return r
}

// first notes a TTFT.
func (l *Live) first(ttft time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ttfts) < liveTTFTs {
		l.ttfts = append(l.ttfts, ttft)
		return
	}
	l.ttfts[l.next] = ttft
	l.next = (l.next + 1) % liveTTFTs
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
