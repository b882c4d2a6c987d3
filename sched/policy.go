package sched

import (
	"container/list"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Policy keeps the waiting requests in the order in which they are offered.
// Not safe for concurrent use.
type Policy interface {
	// Add takes a request that is not there yet.
	Add(r *messages.EngineRequest)
	// Remove returns the request with an id, nil if it is not there.
	Remove(id messages.RequestID) *messages.EngineRequest
	// Head returns the first n requests, or all when there are fewer, in a new
	// slice. They stay.
	Head(n int) []*messages.EngineRequest
	// Len is the number of requests.
	Len() int
}

// FCFS offers in the order of arrival. Add and Remove are O(1).
type FCFS struct {
	order list.List // of *messages.EngineRequest
	at    map[messages.RequestID]*list.Element
}

// NewFCFS returns an empty queue.
func NewFCFS() *FCFS { return &FCFS{at: make(map[messages.RequestID]*list.Element)} }

// Add appends a request.
func (q *FCFS) Add(r *messages.EngineRequest) {
	invariants.Check(q.at[r.ID] == nil, "request %d is enqueued twice", r.ID)
	q.at[r.ID] = q.order.PushBack(r)
}

// Remove takes a request out, wherever it stands.
func (q *FCFS) Remove(id messages.RequestID) *messages.EngineRequest {
	e := q.at[id]
	if e == nil {
		return nil
	}
	delete(q.at, id)
	return q.order.Remove(e).(*messages.EngineRequest)
}

// Head returns the oldest requests.
func (q *FCFS) Head(n int) []*messages.EngineRequest {
	head := make([]*messages.EngineRequest, 0, min(n, q.order.Len()))
	for e := q.order.Front(); e != nil && len(head) < n; e = e.Next() {
		head = append(head, e.Value.(*messages.EngineRequest))
	}
	return head
}

// Len is the number of waiting requests.
func (q *FCFS) Len() int { return q.order.Len() }
