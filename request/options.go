package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// TableOptions are the bounds of a request table. All are hard.
type TableOptions struct {
	// ContextLength is how many tokens, prompt and output together, the model
	// can attend to; >= 2. Example 4096.
	ContextLength int
	// PoolTokens is how many tokens the KV pool holds; >= 2. Example 65536.
	PoolTokens int
	// Vocab is the number of token ids, 0..Vocab-1; >= 1. Example 32000.
	Vocab int
	// MaxOpenRequests bounds the table, in requests; a call beyond it is
	// refused as busy. >= 1. Example 1024.
	MaxOpenRequests int
	// MaxQueuedTokens bounds the prompt tokens of requests that have no output
	// yet; zero means no bound. A call that finds none queued is always taken.
	// Example 1000000.
	MaxQueuedTokens int
	// MaxQueuedRequests (max-queued-requests) bounds the requests that wait for
	// admission; zero means MaxOpenRequests. A call beyond it is refused as
	// busy, unless requests of a lower priority wait, which then give way
	// (Oust).
	// Example 256.
	MaxQueuedRequests int
	// MaxRunning is how many requests the engine runs at once; zero means 1.
	// While no more are open, no estimate refuses a call. Example 64.
	MaxRunning int
	// QueueTimeout (queue-timeout) ends a call of which no request was admitted
	// in time, RequestTimeout (request-timeout) a request that has not ended;
	// zero means never. A call keeps those with which it was accepted. With QueueTimeout, a call whose estimated wait exceeds
	// half of the smaller of both is refused as busy. Example 60s.
	QueueTimeout, RequestTimeout time.Duration
	// Priorities says that the engine looks at priorities; otherwise a request
	// with one is refused, since it would be without effect. LowFirst turns
	// their order around (schedule-low-priority-values-first).
	Priorities, LowFirst bool
	// Oust lets a call beyond MaxQueuedRequests take the places of requests of
	// a lower priority that wait, if the queue goes by priority, too.
	Oust bool
	// Fair says that the queue lets tenants take turns, so that a call waits
	// for its tenant's share only.
	Fair bool
	// MaxLogprobs bounds the likeliest tokens reported per position; zero
	// means none but the chosen one. Example 20.
	MaxLogprobs int
	// MaxStopBytes bounds the stop strings of a request, all together, in
	// bytes; zero means 4096.
	MaxStopBytes int
	// SuspectLimit is after how many crashes in a row without progress a
	// request is run alone; zero means 2.
	SuspectLimit int
	// MaxTickets bounds the administrative questions under way; zero means 16.
	MaxTickets int
}

// withDefaults fills in what zero stands for.
func (o TableOptions) withDefaults() TableOptions {
	for _, d := range []struct {
		value *int
		zero  int
	}{{&o.MaxStopBytes, 4096}, {&o.SuspectLimit, 2}, {&o.MaxTickets, 16}, {&o.MaxRunning, 1}} {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	return o
}

// Validate reports the first option that is out of range.
func (o TableOptions) Validate() error {
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"ContextLength", o.ContextLength, 2}, {"PoolTokens", o.PoolTokens, 2}, {"Vocab", o.Vocab, 1},
		{"MaxOpenRequests", o.MaxOpenRequests, 1}, {"MaxQueuedTokens", o.MaxQueuedTokens, 0}, {"MaxLogprobs", o.MaxLogprobs, 0},
		{"MaxQueuedRequests", o.MaxQueuedRequests, 0}, {"MaxRunning", o.MaxRunning, 0},
		{"MaxStopBytes", o.MaxStopBytes, 0}, {"SuspectLimit", o.SuspectLimit, 0}, {"MaxTickets", o.MaxTickets, 0},
	} {
		if f.value < f.min {
			return fmt.Errorf("request table: %s is %d, want at least %d", f.name, f.value, f.min)
		}
	}
	if o.QueueTimeout < 0 || o.RequestTimeout < 0 {
		return fmt.Errorf("request table: QueueTimeout is %s and RequestTimeout %s, want at least 0", o.QueueTimeout, o.RequestTimeout)
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

// with has other limits.
func (o TableOptions) with(l messages.IntakeLimits) TableOptions {
	o.MaxOpenRequests, o.MaxQueuedTokens, o.MaxQueuedRequests = l.MaxOpenRequests, l.MaxQueuedTokens, l.MaxQueuedRequests
	o.QueueTimeout, o.RequestTimeout = l.QueueTimeout, l.RequestTimeout
	return o
}

// configure takes new limits, all or none. Requests that exceed them stay.
func (c *Core) configure(m *messages.ConfigureIntake) {
	opt := c.table.opt.with(m.Limits)
	if err := opt.Validate(); err != nil {
		answer(m.Reply, err.Error())
		return
	}
	c.table.opt = opt
	answer(m.Reply, "")
}

// limit is how many tokens a request can have, prompt and output together.
func (o *TableOptions) limit() int { return min(o.ContextLength, o.PoolTokens) }
