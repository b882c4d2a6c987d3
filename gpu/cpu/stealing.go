package cpu

import "sync/atomic"

// stealing hands out the units of one stage after another. Each worker owns a contiguous
// range of units, whose weights are one run of memory that the processor can prefetch.
// Idle workers steal from the ranges of others, so a late worker never blocks a stage.
//
// A stage is opened when every unit of the previous one is finished. A worker that
// claims a unit sees everything that the opener of the stage wrote.
type stealing struct {
	// state is the number of the stage (40 bits, wrapping) | its units (24).
	state  atomic.Uint64
	shares []share // per worker
}

// share is the claimed part of a worker's range: the number of the stage | units,
// as in the state. A count of an earlier stage counts as 0.
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
func (c *stealing) open(units int) {
	c.state.Store((c.state.Load()>>unitBits+1)<<unitBits | uint64(units))
}

// take claims a unit of the stage of a state for a worker: from its own range, or from
// the next one that has units left. Not ok: none is left, or the stage is over.
func (c *stealing) take(worker int, state uint64) (unit int, ok bool) {
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
			// If the range is unchanged since, the stage is not over.
			if s.taken.CompareAndSwap(was, stage<<unitBits|uint64(n+1)) {
				return lo + n, true
			}
		}
	}
	return 0, false
}
