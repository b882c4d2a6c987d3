package cpu

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// work is what a team runs: stages of units. open readies stage i and tells
// its units; false when there is no stage i. unit runs one unit; scratch is the
// worker's index.
type work interface {
	open(stage int) (units int, more bool)
	unit(worker, unit int) error
}

// team is a leader, the goroutine that calls run, and helpers. Units are
// claimed one by one from a single word, and the worker that finishes the last
// unit of a stage opens the next. So a stage waits for units under way, never
// for a worker that is late, and a helper may join or leave at any time.
//
// Invariants: work, stage and awake are written only by the leader between
// runs or by the worker that finished a stage's last unit, and read only while
// holding a claimed unit; state orders the two.
type team struct {
	// state is stage number (16 bits, wrapping) | units (24) | claimed (24).
	// units = claimed: nothing to claim.
	state    atomic.Uint64
	finished atomic.Int64 // units of this stage
	idle     atomic.Bool  // no run

	work  work
	stage int
	awake int // helpers that this run wants
	// failure is the first error of a unit; once set, units are skipped.
	failure atomic.Pointer[error]

	helpers []helper
	closing atomic.Bool
}

// helper is the parking place of one helper.
type helper struct {
	parked atomic.Bool
	wake   chan struct{}
	_      [48]byte // a cache line of its own
}

const (
	maxUnits  = 1<<24 - 1
	spins     = 100 // looks at the state before yielding
	idleYield = 50  // yields before a helper parks; about 20 microseconds
	// patience is how many yields a worker waits for another's unit, about a
	// millisecond: units take 20 microseconds, so that one was descheduled and
	// spinning on would only keep its processor busy.
	patience = 2000
	nap      = 50 * time.Microsecond
)

func newTeam(threads int) *team {
	t := &team{helpers: make([]helper, threads-1)}
	t.idle.Store(true)
	for i := range t.helpers {
		t.helpers[i].wake = make(chan struct{}, 1)
		go t.help(i)
	}
	return t
}

// close ends the helpers. No run may be under way.
func (t *team) close() {
	t.closing.Store(true)
	t.wake(len(t.helpers))
}

// run does all stages of w with up to so many helpers awake, and returns the
// first failure.
func (t *team) run(w work, helpers int) error {
	t.work, t.stage = w, -1
	t.failure.Store(nil)
	t.awake = min(helpers, len(t.helpers))
	t.idle.Store(false)
	t.advance()
	for tries := 0; !t.idle.Load(); {
		if t.claim(0) {
			tries = 0
		} else if tries++; tries%spins == 0 {
			runtime.Gosched()
			if tries >= spins*patience {
				time.Sleep(nap)
			}
		}
	}
	t.work = nil
	if err := t.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (t *team) wake(n int) {
	for i := range n {
		if h := &t.helpers[i]; h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// help is the life of a helper.
func (t *team) help(i int) {
	h := &t.helpers[i]
	tries := 0
	for !t.closing.Load() {
		if t.claim(i + 1) {
			tries = 0
			continue
		}
		if tries++; tries%spins == 0 {
			runtime.Gosched()
		}
		if tries < spins*idleYield || !t.idle.Load() && tries < spins*patience {
			continue
		}
		tries = 0
		h.parked.Store(true)
		// Whoever offered units or closed meanwhile may have looked before we
		// parked.
		if (!t.offers() && !t.closing.Load()) || !h.parked.CompareAndSwap(true, false) {
			<-h.wake
		}
	}
}

// offers tells whether there is a unit to claim.
func (t *team) offers() bool {
	s := t.state.Load()
	return s>>24&maxUnits != s&maxUnits
}

// claim takes units as long as the state offers some; false if it did not.
func (t *team) claim(worker int) bool {
	any := false
	for {
		s := t.state.Load()
		if s>>24&maxUnits == s&maxUnits {
			return any
		}
		if !t.state.CompareAndSwap(s, s+1) {
			continue
		}
		any = true
		units := int64(s >> 24 & maxUnits)
		t.do(worker, int(s&maxUnits))
		if t.finished.Add(1) == units {
			t.advance()
		}
	}
}

// do runs a unit; a panic becomes a failure.
func (t *team) do(worker, unit int) {
	if t.failure.Load() != nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			t.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := t.work.unit(worker, unit); err != nil {
		t.fail(err)
	}
}

func (t *team) fail(err error) { t.failure.CompareAndSwap(nil, &err) }

// advance opens the next stage that has units, or ends the run.
func (t *team) advance() {
	units := 0
	for more := true; units == 0; {
		t.stage++
		if t.failure.Load() == nil {
			units, more = t.open()
		}
		if !more || t.failure.Load() != nil {
			t.idle.Store(true)
			return
		}
	}
	t.finished.Store(0)
	awake := t.awake // from here on the stage may end and others write
	t.state.Store((t.state.Load()>>48+1)<<48 | uint64(units)<<24)
	if units > 1 {
		t.wake(awake)
	}
}

// open asks for the next stage; a panic becomes a failure.
func (t *team) open() (units int, more bool) {
	defer func() {
		if p := recover(); p != nil {
			t.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	units, more = t.work.open(t.stage)
	if units > maxUnits {
		panic(fmt.Sprintf("stage %d has %d units, more than %d", t.stage, units, maxUnits))
	}
	return units, more
}
