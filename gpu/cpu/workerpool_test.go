package cpu

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// staged is work whose units count themselves; a stage may only run when all
// previous ones are complete.
type staged struct {
	sizes []int
	ran   [][]atomic.Int32
	early atomic.Int32
	now   int
	bad   func(stage, unit int) error
}

func newStaged(sizes []int) *staged {
	s := &staged{sizes: sizes}
	for _, n := range sizes {
		s.ran = append(s.ran, make([]atomic.Int32, n))
	}
	return s
}

func (s *staged) open(i int) (int, bool) {
	if i >= len(s.sizes) {
		return 0, false
	}
	s.now = i
	return s.sizes[i], true
}

func (s *staged) unit(_, u int) error {
	for i := range s.now {
		for j := range s.ran[i] {
			if s.ran[i][j].Load() != 1 {
				s.early.Add(1)
			}
		}
	}
	s.ran[s.now][u].Add(1)
	if s.bad != nil {
		return s.bad(s.now, u)
	}
	return nil
}

func TestWorkerPoolRunsEveryUnitOnceInOrderOfStages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pool := newWorkerPool(rapid.IntRange(1, 5).Draw(rt, "threads"), nil)
		defer pool.close()
		for range rapid.IntRange(1, 20).Draw(rt, "runs") {
			s := newStaged(rapid.SliceOfN(rapid.IntRange(0, 9), 0, 8).Draw(rt, "sizes"))
			if err := pool.run(s, rapid.IntRange(0, 5).Draw(rt, "helpers")); err != nil {
				rt.Fatal(err)
			}
			for i := range s.ran {
				for j := range s.ran[i] {
					if n := s.ran[i][j].Load(); n != 1 {
						rt.Fatalf("stage %d, unit %d ran %d times", i, j, n)
					}
				}
			}
			if n := s.early.Load(); n != 0 {
				rt.Fatalf("%d times a unit of an earlier stage was not complete", n)
			}
		}
	})
}

func TestWorkerPoolSurvivesFailures(t *testing.T) {
	pool := newWorkerPool(3, nil)
	defer pool.close()
	for name, bad := range map[string]func(stage, unit int) error{
		"unit 3 fails": func(stage, unit int) error {
			if stage == 1 && unit == 3 {
				return errors.New("unit 3 fails")
			}
			return nil
		},
		"unit 5 panics": func(stage, unit int) error {
			if stage == 1 && unit == 5 {
				panic("unit 5 panics")
			}
			return nil
		},
	} {
		s := newStaged([]int{4, 50, 4})
		s.bad = bad
		if err := pool.run(s, 2); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
		for j := range s.ran[2] {
			if s.ran[2][j].Load() != 0 {
				t.Errorf("%s: unit %d of the next stage ran", name, j)
			}
		}
		if err := pool.run(newStaged([]int{4, 50, 4}), 2); err != nil {
			t.Errorf("after %q the next run fails: %v", name, err)
		}
	}
}

// busy is one long stage that records whether another goroutine ran meanwhile.
type busy struct {
	units   int
	met     atomic.Bool
	metWhen int // the first unit that saw it
}

func (b *busy) open(i int) (int, bool) { return b.units, i == 0 }

func (b *busy) unit(_, u int) error {
	if b.met.Load() && b.metWhen == 0 {
		b.metWhen = u
	}
	return nil
}

// A long stage keeps the only processor for yieldUnits units, or for twice as many if the
// scheduler prefers the goroutine that has just yielded, once in 61 turns.
func TestWorkerPoolLetsOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	pool := newWorkerPool(1, nil)
	defer pool.close()
	w := &busy{units: 10 * yieldUnits}
	go w.met.Store(true)
	if err := pool.run(w, 0); err != nil {
		t.Fatal(err)
	}
	if w.metWhen == 0 || w.metWhen > 2*yieldUnits {
		t.Errorf("a waiting goroutine got the processor before unit %d of %d, want %d at the latest", w.metWhen, w.units, 2*yieldUnits)
	}
}
