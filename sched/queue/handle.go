package queue

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

func (q *Core) Handle(now time.Duration, msg messages.ToQueue, out *messages.Outbox) {
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

// enqueue adds requests. It wakes the batch former if the queue was empty: only
// then may the last offer have said that nothing waits.
func (q *Core) enqueue(m *messages.EnqueueRequests, out *messages.Outbox) {
	wake := q.waiting.len() == 0
	for _, r := range m.Requests {
		q.waiting.add(r)
		q.tokens += r.Len()
	}
	if wake && q.waiting.len() > 0 {
		out.ToFormer(&messages.CandidatesWaiting{})
	}
	q.consult(0, out) // answers no offer: while one is pending, a PeekPrefixes is in flight
	q.announceFront(out)
	q.record(out)
}

// finish drops requests. It always passes the message on, because the batch
// former acknowledges every id: waiting, running or unknown.
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

// claim removes requests that were taken. Queue time counts once, not after a crash.
func (q *Core) claim(now time.Duration, m *messages.ClaimCandidates, out *messages.Outbox) {
	q.offered = slices.DeleteFunc(q.offered, func(id messages.RequestID) bool { return slices.Contains(m.IDs, id) })
	for _, id := range m.IDs {
		if r := q.remove(id, true); r != nil && len(r.Output) == 0 {
			out.Record(messages.QueueTime, max(0, now-r.Arrived).Seconds())
		}
	}
	q.record(out)
}
