package queue

import (
	"time"

	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/messages"
)

// ranked is fcfs, lof, random or priority: ranks by the request alone, equals by arrival.
type ranked struct {
	list
	rank func(r *messages.EngineRequest) int64
}

func (p *ranked) add(w *waiter) {
	w.rank = p.rank(w.req)
	p.push(w)
}

func (p *ranked) remove(w *waiter, _ bool) { p.list.remove(w) }

func (p *ranked) head(dst []*waiter, n int, _ time.Duration) []*waiter { return p.take(dst, n) }

// rankOf returns the rank that a policy gives a request.
func rankOf(o *Options) func(r *messages.EngineRequest) int64 {
	switch o.Effective() {
	case "lof":
		return func(r *messages.EngineRequest) int64 { return int64(len(r.Output) - r.Params.MaxTokens) }
	case "random":
		return func(r *messages.EngineRequest) int64 {
			return int64(splitmix.Mix(o.Seed + uint64(r.ID)*splitmix.Step))
		}
	case "priority":
		if o.LowPriorityFirst {
			return func(r *messages.EngineRequest) int64 { return int64(r.Priority) }
		}
		return func(r *messages.EngineRequest) int64 { return -int64(r.Priority) }
	}
	return func(*messages.EngineRequest) int64 { return 0 } // fcfs
}
