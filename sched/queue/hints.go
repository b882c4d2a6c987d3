package queue

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

const (
	// maxPeeks is how many new requests one PeekPrefixes asks for; to them come
	// those near the head.
	maxPeeks = 256
	// maxPeekTokens is how many matched tokens one PeekPrefixes may cost the
	// cache, about 30 µs of comparing.
	maxPeekTokens = 1 << 17
	// maxPeekRounds is how often an offer waits for the cache: once for the new
	// ones and the head, once more for those that this has let loose.
	maxPeekRounds = 2
)

// hinted is a policy that looks into the cache. What it sees binds nobody and
// may be old: only LockPrefixes tells what is there.
type hinted interface {
	policy
	// ask appends the new requests, at most maxPeeks. Before an offer of n, it
	// appends those as well whose hints decide about the offer.
	ask(dst []messages.PrefixPeek, n int) []messages.PrefixPeek
	// learn takes what the cache has found for one request. w is nil when the
	// policy does not hold it (any more).
	learn(w *waiter, found *messages.PrefixPeeked)
	// pathNodes is how many nodes of a prefix's path learn needs to know.
	pathNodes() int
}

// hints is the queue's conversation with the cache: one PeekPrefixes at a time,
// so that a long queue never delays the cache by more than that.
type hints struct {
	policy hinted // nil: the policy needs none
	out    bool   // a PeekPrefixes is on its way
	offer  *messages.OfferCandidates
	rounds int // PeekPrefixes sent for the offer
}

// await keeps an offer until hints have come.
func (h *hints) await(m *messages.OfferCandidates) {
	invariants.Check(h.offer == nil, "plan %d asks for candidates before plan %d got any", m.Plan, planOf(h.offer))
	h.offer, h.rounds = m, 0
}

func planOf(m *messages.OfferCandidates) messages.PlanID {
	if m == nil {
		return 0
	}
	return m.Plan
}

// consult asks the cache as long as there is something to ask, and answers the
// waiting offer as soon as there is not.
func (q *Core) consult(now time.Duration, out *messages.Outbox) {
	h := &q.hints
	for h.policy != nil && !h.out {
		n := 0
		if h.offer != nil && h.rounds == 0 {
			q.line.age(now)
			n = h.offer.Limit
		}
		var asks []messages.PrefixPeek
		if h.offer == nil || h.rounds < maxPeekRounds {
			asks = h.policy.ask(nil, n)
		}
		switch {
		case len(asks) > 0:
			out.ToCache(&messages.PeekPrefixes{Prefixes: asks, MaxTokens: maxPeekTokens, PathNodes: h.policy.pathNodes()})
			h.out = true
			h.rounds++
		case h.offer == nil:
			return
		default:
			q.answer(now, h.offer, out)
			h.offer = nil
		}
	}
}

func (q *Core) prefixesPeeked(now time.Duration, m *messages.PrefixesPeeked, out *messages.Outbox) {
	invariants.Check(q.hints.out, "PrefixesPeeked came while the queue had asked nothing")
	q.hints.out = false
	for i := range m.Peeked {
		w := q.line.all[m.Peeked[i].ID]
		if w != nil && q.line.isFirst(w) {
			w = nil
		}
		q.hints.policy.learn(w, &m.Peeked[i])
	}
	q.consult(now, out)
	q.tellFront(out)
}

// newcomers are the requests of a hinted policy that the cache was not asked
// for yet, by arrival. They are not offered until it was.
type newcomers struct {
	ordered[*waiter]
	walk walk[*waiter]
}

func (f *newcomers) init() { f.ordered = newOrder(earlier) }

// ask appends the first ones.
func (f *newcomers) ask(dst []messages.PrefixPeek) []messages.PrefixPeek {
	f.walk.start(&f.ordered)
	for range maxPeeks {
		w, ok := f.walk.next()
		if !ok {
			break
		}
		dst = append(dst, w.peek())
	}
	return dst
}

// peek asks for the cached prefix of a request.
func (w *waiter) peek() messages.PrefixPeek {
	return messages.PrefixPeek{ID: w.req.ID, Namespace: w.req.Namespace, Tokens: w.tokens[:w.limit:w.limit]}
}
