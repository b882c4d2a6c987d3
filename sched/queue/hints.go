package queue

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

const (
	// maxPeekTokens bounds the matched tokens of one PeekPrefixes. It is the
	// cache's cost: about 30 µs of comparing.
	maxPeekTokens = 1 << 17
	// maxPeekRounds is how often an offer waits for the cache: once for the newcomers and
	// the head, once more for requests that the first answer has made newcomers again.
	maxPeekRounds = 2
)

// hints is the queue's exchange with the cache. Only one PeekPrefixes is in flight at a
// time, so that a long queue delays the cache by one message at most.
type hints struct {
	policy   hinted                    // nil if the policy needs no hints
	inFlight bool                      // a PeekPrefixes was sent and is not answered
	offer    *messages.OfferCandidates // waits for hints
	rounds   int                       // PeekPrefixes sent for the offer
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
