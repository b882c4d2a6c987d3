// Package batch is the actor of the batch former, a shell around sched.Former.
//
//	Receives: CandidatesWaiting, CandidatesOffered, FinishRequests (queue); PrefixesLocked (cache);
//	          PagesReserved, PagesRefused (alloc); BatchDone, BatchFailed (runner);
//	          FlushCache, StepResults whose memory comes home (intake); AuditSlots (intake, alloc)
//	Sends:    OfferCandidates, ClaimCandidates, StepResults if its policy asks for them (queue); LockPrefixes, CommitPlan, AuditSlots (cache);
//	          RunBatch (runner); StepResults, CacheFlushed, FlushRefused, SlotsAudited (intake); FailEpoch (engine)
//	State:    the leases: row, pages, locked node and progress of every admitted request
//	Invariants: listed on sched.Former
//	On failure: stopped with its epoch; the requests of the step are suspects
package batch

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched"
)

// Props makes the actor of one epoch.
func Props(opt shell.Options, batch sched.FormerOptions, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		if opt.Log.GetLevel() <= zerolog.DebugLevel {
			return shell.New[messages.ToBatch](opt, newRequestLog(sched.NewFormer(opt.Epoch, batch), opt.Log))
		}
		return shell.New[messages.ToBatch](opt, sched.NewFormer(opt.Epoch, batch))
	}, more...)
}
