package cpu

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// work is what a worker pool runs: stages of units. open prepares stage i and returns the
// number of its units, or false when there is no stage i. unit runs one unit.
type work interface {
	open(stage int) (units int, more bool)
	unit(worker, unit int) error
}

// workerPool is a leader, the goroutine that calls run, and helpers. Workers
// claim units one by one, and the worker that finishes the last unit of a stage
// opens the next one. So a stage waits only for running units, never for a late
// worker, and a helper may join or leave at any time.
//
// Invariants: work, stage and awake are written only by the leader between
// runs or by the worker that finished a stage's last unit, and read only by a
// worker that holds a claimed unit; claiming orders the two.
type workerPool struct {
	stealing
	_        [64]byte     // all workers often read the fields above
	finished atomic.Int64 // units of this stage
	idle     atomic.Bool  // no run
	// crowded: the workers of this run, or the last, use all processors of the runtime.
	crowded atomic.Bool
	// wait, if not nil, is called by a worker once for every stage in which it
	// finds no unit left. It may run until the stage is over, and may use only
	// what the worker itself has kept of the work.
	wait func(worker int, state uint64)

	work  work
	stage int
	awake int // helpers that this run wakes
	// failure is the first error of a unit; once set, units are skipped.
	failure atomic.Pointer[error]

	leader  worker
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
	spins  = 100 // reads of the state before yielding
	pauses = 10  // take as long as yielding
	// idleYield is the number of yields before a helper parks, about 200 microseconds:
	// longer than actors and connections take between two steps, because waking
	// a parked helper takes as long and delays the waker.
	idleYield = 500
	// yieldUnits is how many units, of some 20 microseconds each, a worker runs
	// before it yields the processor: otherwise timers and actors would wait for
	// the end of a stage, 10 milliseconds for the logits of a large vocabulary. A yield
	// takes a quarter of a microsecond.
	yieldUnits = 8
	// patience is how many yields a worker waits for another worker's unit, about a
	// millisecond. Units take 20 microseconds, so that worker was descheduled, and
	// more spinning would only take processor time from it.
	patience = 2000
	nap      = 50 * time.Microsecond
)

func newWorkerPool(threads int, wait func(worker int, state uint64)) *workerPool {
	t := &workerPool{wait: wait, helpers: make([]helper, threads-1), stealing: stealing{shares: make([]share, threads)}}
	t.idle.Store(true)
	for i := range t.helpers {
		t.helpers[i].wake = make(chan struct{}, 1)
		go t.help(i)
	}
	return t
}

// close ends the helpers. No run may be in progress.
func (t *workerPool) close() {
	t.closing.Store(true)
	t.wake(len(t.helpers))
}

// run does all stages of w with at most helpers helpers and returns the first failure.
func (t *workerPool) run(w work, helpers int) error {
	t.work, t.stage = w, -1
	t.failure.Store(nil)
	t.awake = min(helpers, len(t.helpers))
	t.crowded.Store(t.awake+1 >= runtime.GOMAXPROCS(0))
	t.idle.Store(false)
	t.advance()
	for tries := 0; !t.idle.Load(); {
		if t.claim(&t.leader) {
			tries = 0
		} else if tries++; tries%spins == 0 {
			t.yield()
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

func (t *workerPool) wake(n int) {
	for i := range n {
		if h := &t.helpers[i]; h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// help is the loop of a helper's goroutine.
func (t *workerPool) help(i int) {
	h := &t.helpers[i]
	w, tries := worker{index: i + 1}, 0
	for !t.closing.Load() {
		if t.claim(&w) {
			tries = 0
			continue
		}
		if tries++; tries%spins == 0 {
			t.yield()
		}
		if tries < spins*idleYield || !t.idle.Load() && tries < spins*patience {
			continue
		}
		tries = 0
		h.parked.Store(true)
		// A worker that opened a stage, or close, may have looked before this one parked.
		if (!t.over(w.seen) && !t.closing.Load()) || !h.parked.CompareAndSwap(true, false) {
			<-h.wake
		}
	}
}

// over reports whether a later stage than that of a state was opened.
func (t *workerPool) over(state uint64) bool { return t.state.Load() != state }

// worker is the leader, 0, or a helper.
type worker struct {
	index int
	seen  uint64 // the last state in which it found no unit left
	ran   int    // units
}

// claim runs units while there are any. It returns false if there was none.
func (t *workerPool) claim(w *worker) bool {
	any := false
	for done := 0; ; {
		state := t.state.Load()
		if state == w.seen {
			return any
		}
		// Counted once none is left: workers do not write the same memory for each unit.
		unit, ok := t.take(w.index, state)
		switch {
		case ok:
			any = true
			t.do(w.index, unit)
			done++
			if w.ran++; w.ran%yieldUnits == 0 && t.crowded.Load() {
				t.finish(done, state) // others may wait for them
				done = 0
				runtime.Gosched()
			}
		case done > 0:
			t.finish(done, state)
			done = 0
		default:
			w.seen = state
			if t.wait != nil {
				t.wait(w.index, state)
			}
		}
	}
}

// finish counts units of the stage of a state.
func (t *workerPool) finish(done int, state uint64) {
	if t.finished.Add(int64(done)) == int64(state&maxUnits) {
		t.advance()
	}
}

// yield gives up the processor for a moment. If processors are free, other goroutines
// run there already, and the runtime would only wake one to move this worker.
func (t *workerPool) yield() {
	if t.crowded.Load() {
		runtime.Gosched()
	} else {
		simd.Pause(pauses)
	}
}

func (t *workerPool) do(worker, unit int) {
	if t.failure.Load() != nil {
		return
	}
	defer t.recovered()
	if err := t.work.unit(worker, unit); err != nil {
		t.fail(err)
	}
}

func (t *workerPool) fail(err error) { t.failure.CompareAndSwap(nil, &err) }

// recovered, when deferred, turns a panic into a failure.
func (t *workerPool) recovered() {
	if p := recover(); p != nil {
		t.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// advance opens the next stage that has units, or ends the run.
func (t *workerPool) advance() {
	units := 0
	for more := true; units == 0; {
		t.stage++
		if t.failure.Load() == nil {
			units, more = t.next()
		}
		if !more || t.failure.Load() != nil {
			t.idle.Store(true)
			return
		}
	}
	t.finished.Store(0)
	awake := t.awake // from here on the stage may end and others write
	t.stealing.open(units)
	if units > 1 {
		t.wake(awake)
	}
}

func (t *workerPool) next() (units int, more bool) {
	defer t.recovered()
	units, more = t.work.open(t.stage)
	if units > maxUnits {
		panic(fmt.Sprintf("stage %d has %d units, more than %d", t.stage, units, maxUnits))
	}
	return units, more
}
