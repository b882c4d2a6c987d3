// Package queue takes the steps of a gpu.Model that runs them one after the
// other on the host: one runs, one may wait behind it. It is the one place that
// knows whether a step is in flight.
package queue

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/troupe-engine/troupe/gpu"
)

// Queue runs steps in the order of Submit, on a goroutine of its own that ends
// with Close. Its methods are safe for concurrent use.
type Queue struct {
	run   func(*gpu.StepBatch) (*gpu.StepResult, error)
	steps chan step

	mu       sync.Mutex
	inFlight int      // steps that run or wait
	pending  int      // steps whose done has not returned
	quiet    []func() // Quiesce
	closed   bool
}

type step struct {
	batch *gpu.StepBatch
	done  func(*gpu.StepResult, error)
}

// New starts the goroutine. A panic in run becomes the step's error.
func New(run func(*gpu.StepBatch) (*gpu.StepResult, error)) *Queue {
	q := &Queue{run: run, steps: make(chan step, gpu.StepsInFlight)}
	go q.serve()
	return q
}

func (q *Queue) serve() {
	for s := range q.steps {
		result, err := q.guarded(s.batch)
		q.mu.Lock()
		q.inFlight-- // done may submit the next
		q.mu.Unlock()
		s.done(result, err)
		q.returned()
	}
}

func (q *Queue) guarded(b *gpu.StepBatch) (result *gpu.StepResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("step: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return q.run(b)
}

// Submit implements gpu.Model.
func (q *Queue) Submit(b *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending++
	var refusal error
	switch {
	case q.closed:
		refusal = errors.New("step: the model is closed")
	case q.inFlight == gpu.StepsInFlight:
		refusal = fmt.Errorf("step: %d steps are in flight; wait for the done of the first", q.inFlight)
	default:
		q.inFlight++
		q.steps <- step{b, done} // has room
		return
	}
	go func() {
		done(nil, refusal)
		q.returned()
	}()
}

// returned counts a done that has returned, and calls those that wait for quiet.
func (q *Queue) returned() {
	q.mu.Lock()
	q.pending--
	var tell []func()
	if q.pending == 0 {
		tell, q.quiet = q.quiet, nil
	}
	q.mu.Unlock()
	for _, f := range tell {
		f()
	}
}

// Quiesce implements gpu.Model.
func (q *Queue) Quiesce(done func()) {
	q.mu.Lock()
	if q.pending > 0 {
		q.quiet = append(q.quiet, done)
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	done()
}

// Idle is an error while a step is in flight, or after Close.
func (q *Queue) Idle() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.idle()
}

func (q *Queue) idle() error {
	if q.closed {
		return errors.New("the model is closed")
	}
	if q.inFlight > 0 {
		return errors.New("a step is in flight; wait for Quiesce")
	}
	return nil
}

// Close ends the goroutine; no step may be in flight. It may be called from the
// done of the last step. first is whether the queue was open.
func (q *Queue) Close() (first bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, nil
	}
	if err := q.idle(); err != nil {
		return false, fmt.Errorf("close: %w", err)
	}
	q.closed = true
	close(q.steps)
	return true, nil
}
