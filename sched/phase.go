package sched

import "github.com/troupe-engine/troupe/internal/invariants"

// phase is what a Former waits for. There is one plan or one step at a time.
//
//	resting → offering → locking → committing → running → resting
//
// with short cuts over whatever a step does not need.
type phase uint8

const (
	resting    phase = iota // no plan, no step
	offering                // for CandidatesOffered
	locking                 // for PrefixesLocked
	settling                // for PagesReserved of a commit that only gives back
	committing              // for PagesReserved
	flushing                // for PagesReserved of a flush
	running                 // for BatchDone
	failed                  // for nothing: the epoch ends
)

var phaseNames = [...]string{"resting", "offering", "locking", "settling", "committing", "flushing", "running", "failed"}

// String gives the name used in failures.
func (p phase) String() string { return phaseNames[p] }

// edges lists, by phase, the phases that may follow it.
var edges = [...][]phase{
	resting:    {offering, locking, settling, committing, flushing, running},
	offering:   {resting, locking, settling, committing, running},
	locking:    {resting, settling, committing, running},
	settling:   {resting},
	committing: {resting},
	flushing:   {resting},
	running:    {resting},
	failed:     {},
}

// become changes the phase. An edge that is not listed is a broken invariant.
func (f *Former) become(next phase) {
	if next != failed {
		legal := false
		for _, p := range edges[f.phase] {
			legal = legal || p == next
		}
		if !legal {
			invariants.Fail("the batch former goes from %s to %s", f.phase, next)
		}
	}
	f.phase = next
}

// must fails unless the Former waits for what has come.
func (f *Former) must(ok bool, what string) {
	if !ok {
		invariants.Fail("%s came while the batch former is %s", what, f.phase)
	}
}
