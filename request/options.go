package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// TableOptions are the limits of a request table. All are hard limits.
type TableOptions struct {
	ContextLength   int // of a request, prompt and output in tokens; >= 2. Example 4096
	PoolTokens      int // that the KV pool holds; >= 2. Example 65536
	Vocab           int // number of token ids, 0..Vocab-1; >= 1. Example 32000
	MaxOpenRequests int // in the table; a call beyond it is refused as busy. >= 1. Example 1024
	// MaxQueuedTokens bounds the prompt tokens of requests without output; zero means no
	// bound. If no tokens are queued, a call of any size is accepted. Example 1000000.
	MaxQueuedTokens int
	// MaxQueuedRequests (max-queued-requests) bounds the requests that wait for
	// admission; zero means MaxOpenRequests. A call beyond it is refused as busy,
	// or replaces waiting requests of a lower priority (Displace). A call that has
	// more requests by itself is invalid. Example 256.
	MaxQueuedRequests int
	MaxRunning        int // at once; zero means 1. No estimate refuses a call while fewer are open. Example 64
	// QueueTimeout (queue-timeout) ends a call if none of its requests was admitted in
	// time, RequestTimeout (request-timeout) a request that was not finished in time;
	// zero means never. A call keeps its timeouts. With QueueTimeout, a call whose
	// estimated wait exceeds half of the smaller timeout is refused as busy. Example 60s.
	QueueTimeout, RequestTimeout time.Duration
	Priorities                   bool // the engine uses them; otherwise they have no effect, so they are refused
	LowFirst                     bool // reverses their order (schedule-low-priority-values-first)
	// Displace: a call beyond MaxQueuedRequests replaces waiting requests of lower priority,
	// for a queue that is ordered by priority.
	Displace     bool
	Fair         bool // tenants take turns, so a call waits for its tenant's share only
	MaxLogprobs  int  // bounds the top logprobs per position; 0: the chosen token. Example 20
	MaxStopBytes int  // of all stop strings of a request; zero means 4096
	SuspectLimit int  // crashes in a row without progress that isolate a request; zero means 2
}

func (o TableOptions) Validate() error {
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"ContextLength", o.ContextLength, 2}, {"PoolTokens", o.PoolTokens, 2}, {"Vocab", o.Vocab, 1},
		{"MaxOpenRequests", o.MaxOpenRequests, 1}, {"MaxQueuedTokens", o.MaxQueuedTokens, 0}, {"MaxLogprobs", o.MaxLogprobs, 0},
		{"MaxQueuedRequests", o.MaxQueuedRequests, 0}, {"MaxRunning", o.MaxRunning, 0},
		{"MaxStopBytes", o.MaxStopBytes, 0}, {"SuspectLimit", o.SuspectLimit, 0},
	} {
		if f.value < f.min {
			return fmt.Errorf("request table: %s is %d; it must be at least %d", f.name, f.value, f.min)
		}
	}
	if min(o.QueueTimeout, o.RequestTimeout) < 0 {
		return fmt.Errorf("request table: QueueTimeout is %s and RequestTimeout is %s; both must be at least 0", o.QueueTimeout, o.RequestTimeout)
	}
	return nil
}

// Limits are the options that ConfigureIntake can change.
func (o *TableOptions) Limits() messages.IntakeLimits {
	return messages.IntakeLimits{
		MaxOpenRequests: o.MaxOpenRequests, MaxQueuedTokens: o.MaxQueuedTokens, MaxQueuedRequests: o.MaxQueuedRequests,
		QueueTimeout: o.QueueTimeout, RequestTimeout: o.RequestTimeout,
	}
}

func (o TableOptions) with(l messages.IntakeLimits) TableOptions {
	o.MaxOpenRequests, o.MaxQueuedTokens, o.MaxQueuedRequests = l.MaxOpenRequests, l.MaxQueuedTokens, l.MaxQueuedRequests
	o.QueueTimeout, o.RequestTimeout = l.QueueTimeout, l.RequestTimeout
	return o
}

// limit is how many tokens a request can have, prompt and output together.
func (o *TableOptions) limit() int { return min(o.ContextLength, o.PoolTokens) }
