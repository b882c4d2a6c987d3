package queue

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// offer answers at once, or when the hints that the policy needs have come.
func (q *Core) offer(now time.Duration, m *messages.OfferCandidates, out *messages.Outbox) {
	h := &q.hints
	if h.policy == nil {
		q.offerHead(now, m, out)
		return
	}
	if h.offer != nil {
		invariants.Fail("plan %d asks for candidates before plan %d got its own", m.Plan, h.offer.Plan)
	}
	h.offer, h.rounds = m, 0
	q.consult(now, out)
}

// offerHead answers OfferCandidates with the head of the queue.
func (q *Core) offerHead(now time.Duration, m *messages.OfferCandidates, out *messages.Outbox) {
	q.head = q.waiting.head(q.head[:0], m.Limit, now)
	offered := &messages.CandidatesOffered{Plan: m.Plan, Requests: make([]*messages.EngineRequest, len(q.head)), Waiting: q.waiting.len()}
	q.offered = q.offered[:0]
	for i, w := range q.head {
		offered.Requests[i] = w.req
		q.offered = append(q.offered, w.req.ID)
	}
	out.ToFormer(offered)
	if aged := q.waiting.offered(q.head); aged > 0 {
		out.Record(messages.RequestsAged, float64(aged))
	}
	clear(q.head)
}

// announceFront wakes the batch former if a request goes before all that were
// offered last, once for each such request.
func (q *Core) announceFront(out *messages.Outbox) {
	w := q.waiting.policy.front()
	if w == nil || len(q.offered) == 0 || q.waiting.boosted.len() > 0 || slices.Contains(q.offered, w.req.ID) {
		return
	}
	q.offered = append(q.offered[:0], w.req.ID)
	out.ToFormer(&messages.CandidatesWaiting{})
}
