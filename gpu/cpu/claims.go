package cpu

import "sync/atomic"

// claims hands out the units of one stage after another. Every worker has a
// share of a stage, a run of units: what it reads lies behind one another, so
// that nothing is fetched ahead in vain. Who has nothing left takes of others'
// shares, so that nobody needs to be there.
//
// A stage is opened when every unit of the one before was claimed; all that
// its opener wrote is seen by who claims a unit.
type claims struct {
	// state is the number of the stage (40 bits, wrapping) | its units (24).
	state  atomic.Uint64
	shares []share // per worker
}

// share is what is claimed of one: the number of the stage | units, as in the
// state. The count of an earlier stage is none of this one.
type share struct {
	taken atomic.Uint64
	_     [56]byte // a cache line of its own
}

const (
	unitBits = 24
	maxUnits = 1<<unitBits - 1
	maxStage = 1<<(64-unitBits) - 1
)

// open begins the next stage.
func (c *claims) open(units int) {
	c.state.Store((c.state.Load()>>unitBits+1)<<unitBits | uint64(units))
}

// take claims a unit of the stage of a state for a worker: of its own share, or
// of the next one that has some. None is left, or the stage is over, if not ok.
func (c *claims) take(worker int, state uint64) (unit int, ok bool) {
	stage, units, workers := state>>unitBits, int(state&maxUnits), len(c.shares)
	for i := range workers {
		of := (worker + i) % workers
		lo, hi := span(units, workers, of)
		for s := &c.shares[of]; ; {
			was := s.taken.Load()
			n := int(was & maxUnits)
			if age := (stage - was>>unitBits) & maxStage; age > maxStage/2 {
				return 0, false // others are at a later stage
			} else if age > 0 {
				n = 0
			}
			if lo+n >= hi {
				break
			}
			// If nobody has claimed of the share meanwhile, the stage is not over.
			if s.taken.CompareAndSwap(was, stage<<unitBits|uint64(n+1)) {
				return lo + n, true
			}
		}
	}
	return 0, false
}
