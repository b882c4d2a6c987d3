package queue

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Core is the waiting queue's actor core. A request is in it from
// EnqueueRequests until ClaimCandidates or FinishRequests.
//
// Who is offered first: requests that the engine is being emptied for, then
// those that have waited for longer than Options.Aging, oldest first, then
// the others as the policy says.
type Core struct {
	line     *line
	observer observer // the policy, if it wants results; else nil
	hints    hints
	tokens   int // known tokens of the waiting requests
	head     []*waiter
	// offered are the requests of the last offer that were not claimed since,
	// in order; the batch former may have no room for the first of them.
	offered []messages.RequestID
}

// New returns an empty queue. It panics on options that Validate
// refuses.
func New(opt Options) *Core {
	q := &Core{line: newLine(opt)}
	q.observer, _ = q.line.policy.(observer)
	q.hints.policy, _ = q.line.policy.(hinted)
	return q
}

// Waiting is the number of requests in the queue.
func (q *Core) Waiting() int { return q.line.len() }

// Step handles one message.
func (q *Core) Step(now time.Duration, msg messages.ToQueue, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.EnqueueRequests:
		q.enqueue(m, out)
	case *messages.FinishRequests:
		q.finish(m, out)
	case *messages.OfferCandidates:
		q.offer(now, m, out)
	case *messages.ClaimCandidates:
		q.claim(now, m, out)
	case *messages.PrefixesPeeked:
		q.prefixesPeeked(now, m, out)
	case *messages.StepResults:
		if q.observer != nil {
			q.observer.results(m)
		}
	default:
		invariants.Fail("the queue got a %T", msg)
	}
	if invariants.Enabled {
		q.checkInvariants()
	}
}

// enqueue wakes the batch former when it may believe that nobody waits: it
// believes so only after an offer that said so.
func (q *Core) enqueue(m *messages.EnqueueRequests, out *messages.Outbox) {
	wake := q.line.len() == 0
	for _, r := range m.Requests {
		q.line.add(r)
		q.tokens += r.Len()
	}
	if wake && q.line.len() > 0 {
		out.ToFormer(&messages.CandidatesWaiting{})
	}
	q.consult(0, out) // no offer is answered without one having come
	q.tellFront(out)
	q.record(out)
}

// tellFront wakes the batch former when somebody goes before all whom it was
// offered, once for each.
func (q *Core) tellFront(out *messages.Outbox) {
	w := q.line.policy.front()
	if w == nil || len(q.offered) == 0 || q.line.first.len() > 0 || slices.Contains(q.offered, w.req.ID) {
		return
	}
	q.offered = append(q.offered[:0], w.req.ID)
	out.ToFormer(&messages.CandidatesWaiting{})
}

// finish drops requests and always passes the message on: whoever waits, runs
// or is unknown gets its acknowledgement from the batch former.
func (q *Core) finish(m *messages.FinishRequests, out *messages.Outbox) {
	for _, id := range m.IDs {
		q.remove(id, false)
		if q.observer != nil {
			q.observer.finish(id)
		}
	}
	out.ToFormer(m)
	q.record(out)
}

// offer answers at once, or when the hints that the policy goes by have come.
func (q *Core) offer(now time.Duration, m *messages.OfferCandidates, out *messages.Outbox) {
	if q.hints.policy == nil {
		q.answer(now, m, out)
		return
	}
	q.hints.await(m)
	q.consult(now, out)
}

func (q *Core) answer(now time.Duration, m *messages.OfferCandidates, out *messages.Outbox) {
	q.head = q.line.head(q.head[:0], m.Limit, now)
	offered := &messages.CandidatesOffered{Plan: m.Plan, Requests: make([]*messages.EngineRequest, len(q.head)), Waiting: q.line.len()}
	q.offered = q.offered[:0]
	for i, w := range q.head {
		offered.Requests[i] = w.req
		q.offered = append(q.offered, w.req.ID)
	}
	out.ToFormer(offered)
	if aged := q.line.offered(q.head); aged > 0 {
		out.Record(messages.RequestsAged, float64(aged))
	}
	clear(q.head)
}

// claim lets requests go. The time in the queue counts once, not again after a
// crash.
func (q *Core) claim(now time.Duration, m *messages.ClaimCandidates, out *messages.Outbox) {
	q.offered = slices.DeleteFunc(q.offered, func(id messages.RequestID) bool { return slices.Contains(m.IDs, id) })
	for _, id := range m.IDs {
		if r := q.remove(id, true); r != nil && len(r.Output) == 0 {
			out.Record(messages.QueueTime, max(0, now-r.Arrived).Seconds())
		}
	}
	q.record(out)
}

func (q *Core) remove(id messages.RequestID, claimed bool) *messages.EngineRequest {
	r := q.line.remove(id, claimed)
	if r != nil {
		q.tokens -= r.Len()
	}
	return r
}

func (q *Core) record(out *messages.Outbox) {
	out.Record(messages.RequestsWaiting, float64(q.line.len()))
	out.Record(messages.TokensWaiting, float64(q.tokens))
}
