package former

import "github.com/troupe-engine/troupe/internal/invariants"

// phase says where the plan of the next step stands: what it waits for. There
// is one plan at a time; the steps that run are in Core.flights.
//
//	resting → offering → locking → committing → resting
//
// with short cuts over whatever a step does not need.
type phase uint8

const (
	resting    phase = iota // no plan
	offering                // for CandidatesOffered
	locking                 // for PrefixesLocked
	settling                // for PagesReserved of a commit that only gives back
	committing              // for PagesReserved
	flushing                // for PagesReserved of a flush
	failed                  // for nothing: the epoch ends
)

var phaseNames = [...]string{"resting", "offering", "locking", "settling", "committing", "flushing", "failed"}

// String gives the name used in failures.
func (p phase) String() string { return phaseNames[p] }

// edges lists, by phase, the phases that may follow it.
var edges = [...][]phase{
	resting:    {offering, locking, settling, committing, flushing},
	offering:   {resting, locking, settling, committing},
	locking:    {resting, settling, committing},
	settling:   {resting},
	committing: {resting},
	flushing:   {resting},
	failed:     {},
}

// become changes the phase. An edge that is not listed is a broken invariant.
func (f *Core) become(next phase) {
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

// closePlan ends a plan that nothing is on its way for.
func (f *Core) closePlan() {
	if f.phase != resting {
		f.become(resting)
	}
}

// must fails unless the batch former waits for what has come.
func (f *Core) must(ok bool, what string) {
	if !ok {
		invariants.Fail("%s came while the batch former is %s, with %d steps running", what, f.phase, len(f.flights))
	}
}
