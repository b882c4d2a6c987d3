package queue

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// waiter is a request in the queue with what the policies know about it.
type waiter struct {
	req *messages.EngineRequest
	// tokens are all that is known, prompt and output; limit is how many of
	// them may come from the cache.
	tokens []int32
	limit  int

	rank     int64 // lower goes first; of the rank policies, and minus the hint of lpm
	inPolicy int32 // place in the one heap of the policy that holds it
	inLine   int32 // place in one of the line's heaps

	aged    bool // goes first because of its age
	counted bool // as aged
	stuck   bool // tolerates no other request and has been offered: goes first

	hint   hint
	group  *group  // lpm: whom it leads or follows
	branch *branch // dfs-weight: the end of its cached prefix
	tenant *tenant // fair
}

// policy is an order of waiting requests. Not safe for concurrent use.
type policy interface {
	// add takes a request that is not there yet.
	add(w *waiter)
	// remove takes out a request that is there. claimed says that it runs from
	// now on; otherwise it has ended, or the line offers it by itself.
	remove(w *waiter, claimed bool)
	// head appends the first n requests that may run, or as many as there are.
	// They stay.
	head(dst []*waiter, n int, now time.Duration) []*waiter
	// front is who may run and goes first, age apart; nil when nobody does.
	front() *waiter
}

// observer is a policy that wants to hear how requests go on that it has given
// away.
type observer interface {
	policy
	// results reports a step; it must only read.
	results(m *messages.StepResults)
	// finish reports a request that is about to end, waiting or not.
	finish(id messages.RequestID)
}

// earlier is the order of arrival. Ids are given in order of arrival and part
// those of one moment.
func earlier(a, b *waiter) bool {
	if a.req.Arrived != b.req.Arrived {
		return a.req.Arrived < b.req.Arrived
	}
	return a.req.ID < b.req.ID
}

// byRank is the order of rank, then of arrival.
func byRank(a, b *waiter) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return earlier(a, b)
}

// newOrder returns an empty heap of a policy.
func newOrder(less func(a, b *waiter) bool) ordered[*waiter] {
	return ordered[*waiter]{less: less, place: func(w *waiter) *int32 { return &w.inPolicy }}
}
