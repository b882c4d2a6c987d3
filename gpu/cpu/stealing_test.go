package cpu

import (
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func newStealing(workers int, stage uint64) *stealing {
	c := &stealing{shares: make([]share, workers)}
	c.state.Store(stage << unitBits)
	for i := range c.shares {
		c.shares[i].taken.Store(stage << unitBits)
	}
	return c
}

// A worker's units are contiguous if no other worker steals from its range.
func TestSharesAreRuns(t *testing.T) {
	c := newStealing(3, 0)
	c.open(11)
	state := c.state.Load()
	for worker, want := range [][]int{{0, 1, 2}, {3, 4, 5, 6}, {7, 8, 9, 10}} {
		for _, unit := range want {
			if got, ok := c.take(worker, state); !ok || got != unit {
				t.Fatalf("worker %d has unit %d, %t; want %d", worker, got, ok, unit)
			}
		}
	}
	for worker := range 3 {
		if unit, ok := c.take(worker, state); ok {
			t.Errorf("worker %d has unit %d of a stage without units left", worker, unit)
		}
	}
}

// A single worker takes all units. One that still works on an earlier stage takes none of
// a later one, even if the number of the stage wraps.
func TestStealingOfOneWorker(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 6).Draw(rt, "workers")
		c := newStealing(workers, rapid.SampledFrom([]uint64{0, 1 << 20, maxStage / 2, maxStage - 2}).Draw(rt, "stage"))
		before := c.state.Load()
		for _, units := range rapid.SliceOfN(rapid.IntRange(0, 20), 1, 12).Draw(rt, "stages") {
			c.open(units)
			if unit, ok := c.take(rapid.IntRange(0, workers-1).Draw(rt, "late"), before); ok {
				rt.Fatalf("unit %d of a finished stage is claimed", unit)
			}
			state, ran := c.state.Load(), make([]bool, units)
			worker := rapid.IntRange(0, workers-1).Draw(rt, "worker")
			for range units {
				unit, ok := c.take(worker, state)
				if !ok || ran[unit] {
					rt.Fatalf("unit %d, %t, claimed before: %t; units left", unit, ok, ok && ran[unit])
				}
				ran[unit] = true
			}
			if unit, ok := c.take(worker, state); ok {
				rt.Fatalf("unit %d of %d is claimed again", unit, units)
			}
			before = state
		}
	})
}

// Workers that race for the units of many stages get each unit once.
func TestStealingOfManyWorkers(t *testing.T) {
	const workers, stages = 4, 3000
	c := newStealing(workers, maxStage-stages/2)
	var ran [stages][9]atomic.Int32
	var finished atomic.Int64
	var all sync.WaitGroup
	var stage atomic.Int64
	c.open(1)
	for worker := range workers {
		all.Go(func() {
			for stage.Load() < stages {
				state := c.state.Load()
				units := int64(state & maxUnits)
				unit, ok := c.take(worker, state)
				if !ok {
					continue
				}
				now := stage.Load()
				ran[now][unit].Add(1)
				if finished.Add(1) == units {
					finished.Store(0)
					if next := stage.Add(1); next < stages {
						c.open(int(next%9) + 1)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range ran {
		for unit := range i%9 + 1 {
			if n := ran[i][unit].Load(); n != 1 {
				t.Fatalf("stage %d, unit %d ran %d times", i, unit, n)
			}
		}
	}
}
