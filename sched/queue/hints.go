package queue

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

const (
	// maxPeeks is how many new requests one PeekPrefixes asks for. The requests
	// near the head come on top of that.
	maxPeeks = 256
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
	policy   hinted // nil if the policy needs no hints
	inFlight bool   // a PeekPrefixes was sent and is not answered
	offer    *messages.OfferCandidates
	rounds   int // PeekPrefixes sent for the offer
}

// await keeps an offer until the hints for it have come.
func (h *hints) await(m *messages.OfferCandidates) {
	if h.offer != nil {
		invariants.Fail("plan %d asks for candidates before plan %d got its own", m.Plan, h.offer.Plan)
	}
	h.offer, h.rounds = m, 0
}
