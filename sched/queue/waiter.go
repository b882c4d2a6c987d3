package queue

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

type waiter struct {
	req *messages.EngineRequest
	// tokens are prompt and output so far. The first limit may come from the cache.
	tokens []int32
	limit  int

	rank  int64 // lower goes first; for byRank
	state any   // what the policy keeps with the request: *hint, *branch or *tenant

	inPolicy int32 // position in the policy's heap that holds it
	inOrder  int32 // position in one of waitOrder's heaps

	aged    bool // has waited for Options.Aging: goes first
	counted bool // in RequestsAged
	pinned  bool // must run alone and was offered before: goes first
}

func newWaiter(r *messages.EngineRequest) *waiter {
	w := &waiter{req: r, tokens: r.Prompt}
	if len(r.Output) > 0 {
		w.tokens = slices.Concat(r.Prompt, r.Output)
	}
	w.limit = r.MatchLimit(len(w.tokens), false)
	return w
}

// earlier orders by arrival, and by id within the same instant.
func earlier(a, b *waiter) bool {
	if a.req.Arrived != b.req.Arrived {
		return a.req.Arrived < b.req.Arrived
	}
	return a.req.ID < b.req.ID
}

// byRank orders by rank, then by arrival.
func byRank(a, b *waiter) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return earlier(a, b)
}

func newOrder(less func(a, b *waiter) bool) heap[*waiter] {
	return heap[*waiter]{less: less, pos: func(w *waiter) *int32 { return &w.inPolicy }}
}

// list is a heap with the memory to walk over it.
type list struct {
	heap[*waiter]
	walk walk[*waiter]
}

// take appends the first n requests, or as many as there are.
func (l *list) take(dst []*waiter, n int) []*waiter {
	l.walk.start(&l.heap)
	return l.walk.take(dst, n)
}
