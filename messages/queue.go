package messages

// ToQueue is the set of messages that the waiting queue accepts.
type ToQueue interface{ toQueue() }

// EnqueueRequests hands requests to the engine, in order. The bound was kept
// at intake, so the queue takes them all.
type EnqueueRequests struct {
	Header
	Requests []*EngineRequest // moved; the requests are frozen
}

// FinishRequests asks the engine to let go of requests: their client has gone,
// they were aborted, or intake found a stop string. It follows the requests'
// path intake, queue, batch in order, so that it can never overtake the
// request itself. The batch former acknowledges each id with a RequestEnded,
// known or not; a repeated end is harmless.
type FinishRequests struct {
	Header
	IDs []RequestID // frozen
}

// OfferCandidates asks for the head of the queue.
type OfferCandidates struct {
	Header
	Plan  PlanID
	Limit int // requests at most, >= 1
}

// ClaimCandidates takes offered requests out of the queue for good. An id that
// was finished meanwhile is skipped: its FinishRequests went ahead to the
// batch former.
type ClaimCandidates struct {
	Header
	IDs []RequestID // frozen
}

// PrefixPeeked is how much of one request is cached.
type PrefixPeeked struct {
	ID     RequestID
	Tokens int // matched, whole pages
	// Path are the first PathNodes nodes of the match from the root down,
	// without the root; moved.
	Path []NodeID
}

// PrefixesPeeked answers PeekPrefixes: its first requests, in order, at least
// one. Nothing is locked, so everything may have changed already.
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
