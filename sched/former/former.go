package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/pace"
)

// Core is the batch former's actor core. It owns the leases of all running
// requests and forms one step after the other.
//
// Invariants, checked after each Step in builds with invariants:
//
//  1. free + evictable + protected, as last reported, + private pages of
//     leases + copies = Pages, unless a CommitPlan is out.
//  2. A page is private to one lease or a copy, and stands at most once in
//     a lease.
//  3. Rows that are out = running sequences + leases to be returned; a row has
//     one holder.
//  4. byID holds the running sequences whose end is not reported and the
//     retracted ones, nobody else; running is in order of admission, retracted
//     in the order of comesBackBefore.
//  5. scheduled is within the pages, done covers the tree's; a decoding
//     sequence has all tokens but the newest scheduled.
//  6. No lease is returned while a step that touches it may run: LastStep <=
//     done.
//  7. A request that is Alone has no other one beside it until it has got a
//     token.
//  8. A cancelled or closing sequence is held by the fence or by a plan.
//  9. The flights are the steps (done, step], at most StepsInFlight; what they
//     compute and draw leads from done to scheduled, and to pending tokens.
type Core struct {
	opt   Options
	phase phase
	now   time.Duration // of this Step
	ratio newTokenRatio

	rows      *Rows
	byID      map[messages.RequestID]*sequence
	byRow     []*sequence // [MaxRunning]; nil: no sequence runs there
	running   []*sequence // those with a lease
	retracted []*sequence
	leaving   int        // running sequences that are cancelled or closing
	returns   []giveBack // leases for the next CommitPlan
	copies    []copied   // pages that steps still read, oldest first

	// free and cached are exact: changed by plans only, which tell.
	free   int
	cached messages.CachePages

	// mayWait is false only after the queue has said that nobody waits; it
	// then sends CandidatesWaiting when that changes.
	mayWait bool
	blocked blockade
	// making is the request at the head of the queue for which all others make
	// place, since it wants to be alone; 0: none.
	making messages.RequestID
	// waiting is how many of the last offer wait for a prefix of fillers.
	waiting int
	fillers []*sequence // reused

	plan plan

	prefills prefillShares
	pacer    pace.Pacer
	giveWay  []victim // reused
	// pressing says that somebody would preempt others if no step ran.
	pressing bool

	step    messages.StepID     // newest launched
	done    messages.StepID     // newest whose results were taken: the fence
	doneAt  time.Duration       // when
	flights []flight            // the steps between, oldest first
	kept    *messages.BatchDone // came while a CommitPlan was out
	waits   bool                // no plan before the running step is done
	closed  []messages.Row      // for the next RunBatch
	// sinceForced counts steps since the last forced retraction.
	sinceForced int

	seq   uint64 // of the newest StepResults
	ended []messages.RequestEnded
	began []messages.RequestID // admitted, not reported yet
	spent []*messages.StepResults

	commitPlan messages.CommitPlan

	audit   audits
	history history
	flushes []messages.Ticket
}

// New returns a batch former of a pool whose pages are all free. It panics on
// options that Validate refuses.
func New(opt Options) *Core {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	opt = opt.withDefaults()
	return &Core{
		opt: opt, ratio: newRatio(&opt), pacer: pace.New(pace.Options{Target: opt.InterTokenLatencyTarget, PageSize: opt.PageSize, ChunkSize: opt.ChunkedPrefillSize}),
		rows:    NewRows(opt.MaxRunning),
		byID:    make(map[messages.RequestID]*sequence),
		byRow:   make([]*sequence, opt.MaxRunning),
		flights: make([]flight, 0, opt.StepsInFlight),
		free:    opt.Pages,
	}
}

// Step handles one message. Everything after the batch former has failed its epoch is
// ignored.
func (f *Core) Step(now time.Duration, msg messages.ToFormer, out *messages.Outbox) {
	if f.phase == failed {
		return
	}
	f.now = now
	switch m := msg.(type) {
	case *messages.StepResults:
		f.tookBack(m)
		return
	case *messages.CandidatesWaiting:
		f.mayWait, f.waits, f.blocked = true, false, blockade{}
	case *messages.CandidatesOffered:
		f.candidatesOffered(now, m, out)
	case *messages.FinishRequests:
		f.finishRequests(m)
	case *messages.PrefixesLocked:
		f.prefixesLocked(now, m, out)
	case *messages.PagesReserved:
		f.pagesReserved(now, m, out)
	case *messages.PagesRefused:
		invariants.Fail("the allocator refused plan %d, made from exact counters: %d pages wanted, %d free: %s", m.Plan, m.Wanted, m.Free, m.Reason)
	case *messages.BatchDone:
		f.batchDone(now, m, out)
	case *messages.BatchFailed:
		f.batchFailed(m, out)
	case *messages.FlushCache:
		f.flushes = append(f.flushes, m.Ticket)
	case *messages.AuditSlots:
		f.auditSlots(m, out)
	default:
		invariants.Fail("the batch former got a %T", msg)
	}
	f.sweep()
	f.advance(now, out)
	f.acknowledge(out)
	if invariants.Enabled {
		f.checkInvariants()
	}
}

// Load is what a batch former holds, for status pages and tests.
type Load struct {
	Running   int // sequences with a lease
	Retracted int // sequences that wait to come back
	Leased    int // private pages of leases, and copies
	Resting   bool
}

// Load reports what the batch former holds now.
func (f *Core) Load() Load {
	return Load{len(f.running), len(f.retracted), f.leased(), f.phase == resting && !f.audit.out && f.quiet()}
}

// advance goes on as far as possible without another message.
func (f *Core) advance(now time.Duration, out *messages.Outbox) {
	for {
		f.answerFlushes(out)
		f.sendAudits(out)
		if !f.mayPlan() || !f.openPlan(now, out) {
			return
		}
	}
}

// acknowledge reports requests that ended outside of a step's results, unless a
// step's results will come.
func (f *Core) acknowledge(out *messages.Outbox) {
	if len(f.ended) == 0 || !f.quiet() || f.phase == failed {
		return
	}
	r := f.newResults(0)
	f.addEnds(r)
	f.report(r, out)
}

// addEnds moves what has happened outside of a step's results into them.
func (f *Core) addEnds(r *messages.StepResults) {
	r.Admitted, r.Ended = append(r.Admitted, f.began...), append(r.Ended, f.ended...)
	f.began, f.ended = f.began[:0], f.ended[:0]
}

// fail ends the epoch.
func (f *Core) fail(cause string, suspects []messages.RequestID, sticky bool, out *messages.Outbox) {
	f.become(failed)
	out.ToEngine(&messages.FailEpoch{
		From: messages.Former, Cause: cause, Suspects: suspects, Sticky: sticky,
	})
}
