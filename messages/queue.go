package messages

type ToQueue interface{ toQueue() }

// EnqueueRequests submits requests, in order. All are accepted: intake checks the limits.
type EnqueueRequests struct {
	Header
	Requests []*EngineRequest // moved; the requests are frozen
}

// FinishRequests asks the engine to release requests: their client has disconnected,
// they were aborted, or intake found a stop string. It goes the same way as the
// requests (intake, queue, batch former), so it cannot overtake them. The batch former
// acknowledges each id with a RequestEnded, also unknown and repeated ones.
type FinishRequests struct {
	Header
	IDs []RequestID // frozen
}

// OfferCandidates asks for the head of the queue.
type OfferCandidates struct {
	Header
	Plan  PlanID
	Limit int // at most this many requests, >= 1
}

// ClaimCandidates removes admitted requests from the queue. An id that was finished
// meanwhile is skipped; the batch former has got its FinishRequests.
type ClaimCandidates struct {
	Header
	IDs []RequestID // frozen
}

// PrefixPeeked is the cached prefix of one request.
type PrefixPeeked struct {
	ID     RequestID
	Tokens int // matched, whole pages
	// Path are the first PathNodes nodes of the match, top down, without the root; moved.
	Path []NodeID
}

// PrefixesPeeked answers PeekPrefixes for its first requests, at least one, in
// order. Nothing is locked, so the cache may have changed since.
type PrefixesPeeked struct {
	Header
	Peeked []PrefixPeeked // moved
}

func (*EnqueueRequests) toQueue() {}
func (*FinishRequests) toQueue()  {}
func (*OfferCandidates) toQueue() {}
func (*ClaimCandidates) toQueue() {}
func (*PrefixesPeeked) toQueue()  {}
func (*StepResults) toQueue()     {}
