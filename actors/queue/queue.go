// Package queue is the actor of the waiting queue, a shell around
// sched.QueueCore.
//
//	Receives: EnqueueRequests, FinishRequests (intake); OfferCandidates, ClaimCandidates,
//	          StepResults (batch); PrefixesPeeked (cache)
//	Sends:    CandidatesWaiting, CandidatesOffered, FinishRequests (batch); PeekPrefixes (cache)
//	State:    the requests that no batch former has taken, in policy order
//	Invariants: a request is in the queue or with the batch former, never both once claimed
//	On failure: stopped with its epoch; intake submits again
package queue

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched"
)

// Props makes the actor of one epoch.
func Props(opt shell.Options, queue sched.QueueOptions, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return shell.New[messages.ToQueue](opt, sched.NewQueueCore(opt.Epoch, queue))
	}, more...)
}
