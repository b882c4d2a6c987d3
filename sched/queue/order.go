package queue

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// waitOrder holds all waiting requests in the order in which they are offered:
// first the boosted ones, then the others in the policy's order. A request is
// boosted when it has waited for Options.Aging, or when it is pinned: it must
// run alone, and the batch former is already draining the engine for it.
//
// Invariants:
//
//  1. A request is either in boosted, or with the policy. In the second case it
//     is also in byArrival, if there is aging.
//  2. boosted is ordered by arrival, pinned requests first.
type waitOrder struct {
	policy    policy
	aging     time.Duration // 0: never
	byID      map[messages.RequestID]*waiter
	byArrival heap[*waiter] // the first one ages next
	boosted   list
}

// newWaitOrder returns an empty order. fcfs orders by arrival already, and fair
// ages tenants instead of requests.
func newWaitOrder(opt Options) waitOrder {
	pos := func(w *waiter) *int32 { return &w.inOrder }
	o := waitOrder{
		policy: newPolicy(opt), aging: opt.Aging, byID: map[messages.RequestID]*waiter{},
		byArrival: heap[*waiter]{less: earlier, pos: pos},
		boosted: list{heap: heap[*waiter]{pos: pos, less: func(a, b *waiter) bool {
			if a.pinned != b.pinned {
				return a.pinned
			}
			return earlier(a, b)
		}}},
	}
	if p := opt.Effective(); p == "fcfs" || p == "fair" {
		o.aging = 0
	}
	return o
}

func (o *waitOrder) len() int { return len(o.byID) }

func (o *waitOrder) add(r *messages.EngineRequest) {
	invariants.Check(o.byID[r.ID] == nil, "request %d is enqueued twice", r.ID)
	w := newWaiter(r)
	o.byID[r.ID] = w
	o.policy.add(w)
	if o.aging > 0 {
		o.byArrival.push(w)
	}
}

// remove removes and returns the request with an id, nil if it does not wait.
func (o *waitOrder) remove(id messages.RequestID, claimed bool) *messages.EngineRequest {
	w := o.byID[id]
	if w == nil {
		return nil
	}
	if o.isBoosted(w) {
		o.boosted.remove(w)
	} else {
		o.takeFromPolicy(w, claimed)
	}
	delete(o.byID, id)
	return w.req
}

// isBoosted reports whether a request goes first whatever the policy says. Under
// fair an aged request stays with the policy.
func (o *waitOrder) isBoosted(w *waiter) bool { return w.pinned || o.aging > 0 && w.aged }

func (o *waitOrder) takeFromPolicy(w *waiter, claimed bool) {
	o.policy.remove(w, claimed)
	if o.aging > 0 {
		o.byArrival.remove(w)
	}
}

// age boosts the requests that have waited long enough. Each one costs O(log n), once.
func (o *waitOrder) age(now time.Duration) {
	for o.aging > 0 && o.byArrival.len() > 0 && now-o.byArrival.first().req.Arrived >= o.aging {
		w := o.byArrival.first()
		o.takeFromPolicy(w, false)
		w.aged = true
		o.boosted.push(w)
	}
}

// head appends the first n requests that may run.
func (o *waitOrder) head(dst []*waiter, n int, now time.Duration) []*waiter {
	o.age(now)
	full := len(dst) + n
	if dst = o.boosted.take(dst, n); len(dst) == full {
		return dst
	}
	return o.policy.head(dst, full-len(dst), now)
}

// offered returns how many of the offered requests are counted as aged for the first
// time. It pins requests that must run alone: the batch former drains the engine for
// them, which would be wasted if a request with a better rank went first.
func (o *waitOrder) offered(head []*waiter) (aged int) {
	for _, w := range head {
		if w.aged && !w.counted {
			w.counted = true
			aged++
		}
		if !w.req.Alone || w.pinned {
			continue
		}
		if o.isBoosted(w) {
			o.boosted.remove(w)
		} else {
			o.takeFromPolicy(w, false)
		}
		w.pinned = true
		o.boosted.push(w)
	}
	return aged
}
