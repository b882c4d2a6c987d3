package queue

import "github.com/troupe-engine/troupe/messages"

// Core is the core of the waiting queue. It holds a request from
// EnqueueRequests until ClaimCandidates or FinishRequests.
type Core struct {
	waiting  waitOrder
	observer observer // the policy, if it needs results; else nil
	hints    hints
	tokens   int // known tokens of the waiting requests
	head     []*waiter
	// offered are the requests of the last offer that are not claimed, in order.
	// The batch former may lack the memory for the first of them.
	offered []messages.RequestID
}

// New returns an empty queue. It panics if Validate rejects the options.
func New(opt Options) *Core {
	q := &Core{waiting: newWaitOrder(opt)}
	q.observer, _ = q.waiting.policy.(observer)
	q.hints.policy, _ = q.waiting.policy.(hinted)
	return q
}

func (q *Core) Waiting() int { return q.waiting.len() }

func (q *Core) remove(id messages.RequestID, claimed bool) *messages.EngineRequest {
	r := q.waiting.remove(id, claimed)
	if r != nil {
		q.tokens -= r.Len()
	}
	return r
}

func (q *Core) record(out *messages.Outbox) {
	out.Record(messages.RequestsWaiting, float64(q.waiting.len()))
	out.Record(messages.TokensWaiting, float64(q.tokens))
}
