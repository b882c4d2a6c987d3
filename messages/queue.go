package messages

// ToQueue is the set of messages that the waiting queue accepts.
type ToQueue interface{ toQueue() }

// EnqueueRequests hands requests to the engine, in order. The bound was kept
// at intake, so the queue takes them all.
type EnqueueRequests struct {
	Epoch    Epoch
	Requests []*EngineRequest // moved; the requests are frozen
}

// FinishRequests asks the engine to let go of requests: their client has gone,
// they were aborted, or intake found a stop string. It follows the requests'
// path intake, queue, batch in order, so that it can never overtake the
// request itself. The batch former acknowledges each id with a RequestEnded,
// known or not; a repeated end is harmless.
type FinishRequests struct {
	Epoch Epoch
	IDs   []RequestID // frozen
}

// OfferCandidates asks for the head of the queue.
type OfferCandidates struct {
	Epoch Epoch
	Plan  PlanID
	Limit int // requests at most, >= 1
}

// ClaimCandidates takes offered requests out of the queue for good. An id that
// was finished meanwhile is skipped: its FinishRequests went ahead to the
// batch former.
type ClaimCandidates struct {
	Epoch Epoch
	IDs   []RequestID // frozen
}

func (*EnqueueRequests) toQueue() {}
func (*FinishRequests) toQueue()  {}
func (*OfferCandidates) toQueue() {}
func (*ClaimCandidates) toQueue() {}
