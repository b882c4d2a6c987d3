package former

import "github.com/troupe-engine/troupe/internal/invariants"

// phase says which message the open plan waits for. There is one plan at a time;
// the steps that run are separate (inFlight).
//
//	resting → offering → locking → committing → resting
//
// A plan skips the phases that it does not need.
type phase uint8

const (
	resting    phase = iota // no plan is open
	offering                // for CandidatesOffered
	locking                 // for PrefixesLocked
	settling                // for PagesReserved of a CommitPlan that only gives back
	committing              // for PagesReserved
	flushing                // for PagesReserved of a flush
	failed                  // for nothing: the epoch ends
)

var phaseNames = [...]string{"resting", "offering", "locking", "settling", "committing", "flushing", "failed"}

func (p phase) String() string { return phaseNames[p] }

// edges lists, by phase, the phases that may follow it. Every phase may fail.
var edges = [...][]phase{
	resting:    {offering, locking, settling, committing, flushing},
	offering:   {resting, locking, settling, committing},
	locking:    {resting, settling, committing},
	settling:   {resting},
	committing: {resting},
	flushing:   {resting},
	failed:     {},
}

// to changes the phase. An edge that is not listed is a broken invariant.
func (p *phase) to(next phase) {
	legal := next == failed
	for _, e := range edges[*p] {
		legal = legal || e == next
	}
	if !legal {
		invariants.Fail("the batch former goes from %s to %s", *p, next)
	}
	*p = next
}

// close ends a plan that waits for nothing.
func (p *phase) close() {
	if *p != resting {
		p.to(resting)
	}
}

// committed reports whether a CommitPlan is out that may still change leases.
func (p phase) committed() bool { return p == settling || p == committing }
