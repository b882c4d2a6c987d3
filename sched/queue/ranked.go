package queue

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// ranked is a policy whose ranks depend on the request only: fcfs, lof, random
// and priority. Equal ranks go by arrival. add and remove take O(log n), head(k)
// takes O(k log k).
type ranked struct {
	rank  func(r *messages.EngineRequest) int64
	order heap[*waiter]
	walk  walk[*waiter]
}

func newRanked(rank func(r *messages.EngineRequest) int64) *ranked {
	return &ranked{rank: rank, order: newOrder(byRank)}
}

func (p *ranked) add(w *waiter) {
	w.rank = p.rank(w.req)
	p.order.push(w)
}

func (p *ranked) remove(w *waiter, _ bool) { p.order.remove(w) }

func (p *ranked) front() *waiter { return p.order.front() }

func (p *ranked) head(dst []*waiter, n int, _ time.Duration) []*waiter {
	p.walk.start(&p.order)
	return p.walk.take(dst, n)
}

// newFCFS offers in the order of arrival.
func newFCFS() *ranked {
	return newRanked(func(*messages.EngineRequest) int64 { return 0 })
}

// newLOF offers the request with the most remaining output tokens first.
func newLOF() *ranked {
	return newRanked(func(r *messages.EngineRequest) int64 { return -int64(r.Remaining()) })
}

// newPriority offers the higher priority first, or the lower one.
func newPriority(lowFirst bool) *ranked {
	return newRanked(func(r *messages.EngineRequest) int64 {
		if lowFirst {
			return int64(r.Priority)
		}
		return -int64(r.Priority)
	})
}

// newRandom offers in an order that follows from the seed and the ids.
func newRandom(seed uint64) *ranked {
	return newRanked(func(r *messages.EngineRequest) int64 { return int64(scramble(seed + uint64(r.ID)*0x9e3779b97f4a7c15)) })
}
