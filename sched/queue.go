package sched

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// QueueOptions configure a QueueCore.
type QueueOptions struct {
	// SchedulePolicy is the order in which requests are offered: "fcfs", first
	// come first served, which "" means too.
	SchedulePolicy string
}

// Validate reports an unknown policy.
func (o *QueueOptions) Validate() error {
	_, err := o.policy()
	return err
}

func (o *QueueOptions) policy() (Policy, error) {
	switch o.SchedulePolicy {
	case "", "fcfs":
		return NewFCFS(), nil
	}
	return nil, fmt.Errorf("schedule-policy %q is unknown, want fcfs", o.SchedulePolicy)
}

// QueueCore is the waiting queue's actor core. A request is in it from
// EnqueueRequests until ClaimCandidates or FinishRequests.
type QueueCore struct {
	epoch   messages.Epoch
	waiting Policy
	tokens  int // known tokens of the waiting requests
}

// NewQueueCore returns an empty queue. It panics on options that Validate
// refuses.
func NewQueueCore(epoch messages.Epoch, opt QueueOptions) *QueueCore {
	policy, err := opt.policy()
	if err != nil {
		invariants.Fail("%v", err)
	}
	return &QueueCore{epoch: epoch, waiting: policy}
}

// Waiting is the number of requests in the queue.
func (q *QueueCore) Waiting() int { return q.waiting.Len() }

// Step handles one message. Messages of other epochs are counted and ignored.
func (q *QueueCore) Step(_ time.Duration, msg messages.ToQueue, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.EnqueueRequests:
		if out.Current(q.epoch, m.Epoch) {
			q.enqueue(m, out)
		}
	case *messages.FinishRequests:
		if out.Current(q.epoch, m.Epoch) {
			q.finish(m, out)
		}
	case *messages.OfferCandidates:
		if out.Current(q.epoch, m.Epoch) {
			out.Send(messages.Batch, &messages.CandidatesOffered{
				Epoch: q.epoch, Plan: m.Plan, Requests: q.waiting.Head(m.Limit), Waiting: q.waiting.Len(),
			})
		}
	case *messages.ClaimCandidates:
		if out.Current(q.epoch, m.Epoch) {
			for _, id := range m.IDs {
				q.remove(id)
			}
			q.record(out)
		}
	default:
		invariants.Fail("the queue got a %T", msg)
	}
}

// Suspects are the requests that a message is about.
func (q *QueueCore) Suspects(msg messages.ToQueue) []messages.RequestID {
	switch m := msg.(type) {
	case *messages.EnqueueRequests:
		return requestIDs(m.Requests)
	case *messages.FinishRequests:
		return append([]messages.RequestID(nil), m.IDs...)
	case *messages.ClaimCandidates:
		return append([]messages.RequestID(nil), m.IDs...)
	}
	return nil
}

// enqueue wakes the batch former when it may believe that nobody waits: it
// believes so only after an offer that said so.
func (q *QueueCore) enqueue(m *messages.EnqueueRequests, out *messages.Outbox) {
	wake := q.waiting.Len() == 0
	for _, r := range m.Requests {
		q.waiting.Add(r)
		q.tokens += r.Len()
	}
	if wake && q.waiting.Len() > 0 {
		out.Send(messages.Batch, &messages.CandidatesWaiting{Epoch: q.epoch, Waiting: q.waiting.Len()})
	}
	q.record(out)
}

// finish drops requests and always passes the message on: whoever waits, runs
// or is unknown gets its acknowledgement from the batch former.
func (q *QueueCore) finish(m *messages.FinishRequests, out *messages.Outbox) {
	for _, id := range m.IDs {
		q.remove(id)
	}
	out.Send(messages.Batch, m)
	q.record(out)
}

func (q *QueueCore) remove(id messages.RequestID) {
	if r := q.waiting.Remove(id); r != nil {
		q.tokens -= r.Len()
	}
}

func (q *QueueCore) record(out *messages.Outbox) {
	out.Record(messages.RequestsWaiting, float64(q.waiting.Len()))
	out.Record(messages.TokensWaiting, float64(q.tokens))
}

func requestIDs(requests []*messages.EngineRequest) []messages.RequestID {
	ids := make([]messages.RequestID, len(requests))
	for i, r := range requests {
		ids[i] = r.ID
	}
	return ids
}
