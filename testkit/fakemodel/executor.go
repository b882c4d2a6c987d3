package fakemodel

import (
	"fmt"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Executor computes steps of a fake model. Construct it with New.
type Executor struct {
	ready func(messages.RequestID) // of Reset
	mu    sync.Mutex
	opt   Options

	// pool has one KV value per slot, slot = page*PageSize + offset; [slots].
	pool []int32
	// refs counts, per page, its places in the tables of open rows; spaces is the
	// namespace of the request that wrote it.
	refs   []int32
	spaces []string
	uses   []use // by page
	rows   []row // [MaxRows]

	epoch     messages.Epoch // of the rows; 0 after Reset
	step      messages.StepID
	submitted int
	failed    *StepError // set by a failed step until Reset

	queue      []job // steps not yet completed, oldest first
	draining   bool  // the Async goroutine is at work
	hung       bool
	quiesced   []func() // called once the queue is empty
	violations []string
}

// maxInFlight is how many steps a device takes: one that runs and one that waits.
const maxInFlight = 2

// job is one submitted step.
type job struct {
	number int
	beside bool // another step was in the queue when it came
	batch  *messages.RunBatch
	done   func(*messages.BatchDone, error)
}

// New makes an executor whose pool holds garbage. It panics on options that
// Validate refuses.
func New(opt Options) *Executor {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	e := &Executor{opt: opt,
		pool:   make([]int32, (opt.Pages+1)*opt.PageSize),
		refs:   make([]int32, opt.Pages+1),
		spaces: make([]string, opt.Pages+1),
		uses:   make([]use, opt.Pages+1),
		rows:   make([]row, opt.MaxRows),
	}
	e.Reset(nil)
	return e
}

// Options returns what the executor was made with.
func (e *Executor) Options() Options { return e.opt }

// Submit takes a step, whose slices it owns from now on. done is called exactly
// once, with the results or with a *StepError; before Submit returns unless the
// executor is Manual or Async. After an error every further step fails until
// Reset.
func (e *Executor) Submit(batch *messages.RunBatch, done func(*messages.BatchDone, error)) {
	e.mu.Lock()
	e.submitted++
	j := job{e.submitted, len(e.queue) > 0, batch, done}
	switch kind := e.fault(j.number); {
	case kind == PanicStep:
		e.mu.Unlock()
		panic(injected(kind, j.number))
	case kind == HangStep:
		e.hung = true
		e.mu.Unlock()
		return
	}
	if len(e.queue) == maxInFlight {
		err := &StepError{Reason: fmt.Sprintf("illegal step: epoch %d step %d comes while %d are in flight", batch.Epoch, batch.Step, maxInFlight)}
		e.violations = append(e.violations, err.Reason)
		e.failed = err
		e.mu.Unlock()
		done(nil, err)
		return
	}
	e.queue = append(e.queue, j)
	if e.opt.Manual {
		e.mu.Unlock()
		return
	}
	if e.opt.Async {
		if !e.draining {
			e.draining = true
			go e.drain()
		}
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	e.Complete()
}

// drain executes queued steps until none is left.
func (e *Executor) drain() {
	for {
		time.Sleep(e.opt.StepTime)
		e.Complete()
		e.mu.Lock()
		if len(e.queue) == 0 {
			e.draining = false
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
	}
}

// Pending is the number of submitted steps whose callback has not been called.
func (e *Executor) Pending() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue)
}

// Submitted is the number of steps submitted in the executor's life.
func (e *Executor) Submitted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.submitted
}

// Complete executes the oldest step of the queue and calls its callback. It
// reports whether there was one.
func (e *Executor) Complete() bool {
	e.mu.Lock()
	if len(e.queue) == 0 {
		e.mu.Unlock()
		return false
	}
	j := e.queue[0]
	result, err := e.execute(j)
	e.queue = e.queue[1:]
	ready := e.ready
	var late []messages.RequestID
	if err == nil && ready != nil {
		for _, row := range result.Late {
			late = append(late, e.rows[row].request.ID)
		}
	}
	e.mu.Unlock()

	if err != nil {
		j.done(nil, err)
	} else {
		j.done(result, nil)
	}
	for _, id := range late {
		ready(id)
	}
	e.tellQuiesced()
	return true
}

// tellQuiesced calls the callbacks that wait for an empty queue.
func (e *Executor) tellQuiesced() {
	e.mu.Lock()
	if len(e.queue) > 0 || e.hung {
		e.mu.Unlock()
		return
	}
	waiting := e.quiesced
	e.quiesced = nil
	e.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

// Quiesce calls done once no step is in the queue, at once if none is. Steps
// submitted meanwhile delay it.
func (e *Executor) Quiesce(done func()) {
	e.mu.Lock()
	e.quiesced = append(e.quiesced, done)
	e.mu.Unlock()
	e.tellQuiesced()
}

// Reset forgets all rows, for a new epoch, and fills the pool with garbage, so
// that nothing of the old epoch can be read unnoticed. ready, if not nil, is called for each
// late row right after the step's done.
func (e *Executor) Reset(ready func(messages.RequestID)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	invariants.Check(len(e.queue) == 0, "fakemodel: Reset with %d steps in the queue; wait for Quiesce", len(e.queue))
	clear(e.rows)
	clear(e.refs)
	clear(e.spaces)
	clear(e.uses)
	for slot := range e.pool {
		e.pool[slot] = garbage(slot, e.submitted)
	}
	e.epoch, e.step, e.failed, e.ready = 0, 0, nil, ready
}

// Violations are the reasons of all steps that failed because of their deltas,
// not by an injected fault. A test of an engine that recovers asserts that
// there are none.
func (e *Executor) Violations() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.violations...)
}

// execute computes one step, under the lock.
func (e *Executor) execute(j job) (*messages.BatchDone, error) {
	if e.failed != nil {
		return nil, &StepError{Reason: "an earlier step failed and the executor was not reset: " + e.failed.Reason, Gone: e.failed.Gone}
	}
	result, err := e.run(j.batch, j.beside)
	if err != nil {
		reason := fmt.Sprintf("epoch %d step %d: %v", j.batch.Epoch, j.batch.Step, err)
		e.violations = append(e.violations, reason)
		e.failed = &StepError{Reason: "illegal step: " + reason}
	} else if kind := e.fault(j.number); kind != 0 {
		e.failed = injected(kind, j.number)
	}
	if e.failed != nil {
		return nil, e.failed
	}
	return result, nil
}
