package queue

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

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

// consult asks the cache for hints as long as the policy needs some, and answers the
// pending offer as soon as it needs none.
func (q *Core) consult(now time.Duration, out *messages.Outbox) {
	h := &q.hints
	for h.policy != nil && !h.inFlight {
		n := 0
		if h.offer != nil && h.rounds == 0 {
			q.waiting.age(now)
			n = h.offer.Limit
		}
		q.head = q.head[:0]
		if h.offer == nil || h.rounds < maxPeekRounds {
			q.head = h.policy.ask(q.head, n)
		}
		switch {
		case len(q.head) > 0:
			peeks := make([]messages.PrefixPeek, len(q.head))
			for i, w := range q.head {
				peeks[i] = messages.PrefixPeek{ID: w.req.ID, Namespace: w.req.Namespace, Tokens: w.tokens[:w.limit:w.limit]}
			}
			clear(q.head)
			out.ToCache(&messages.PeekPrefixes{Prefixes: peeks, MaxTokens: maxPeekTokens, PathNodes: h.policy.pathNodes()})
			h.inFlight = true
			h.rounds++
		case h.offer == nil:
			return
		default:
			q.offerHead(now, h.offer, out)
			h.offer = nil
		}
	}
}

func (q *Core) prefixesPeeked(now time.Duration, m *messages.PrefixesPeeked, out *messages.Outbox) {
	invariants.Check(q.hints.inFlight, "PrefixesPeeked came although the queue had asked for nothing")
	q.hints.inFlight = false
	for i := range m.Peeked {
		w := q.waiting.byID[m.Peeked[i].ID]
		if w != nil && q.waiting.isBoosted(w) {
			w = nil
		}
		q.hints.policy.learn(w, &m.Peeked[i])
	}
	q.consult(now, out)
	q.announceFront(out)
}
