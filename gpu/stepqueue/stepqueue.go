// Package stepqueue runs the steps of a gpu.Model one after the other on the host: one
// runs, one may wait. It is the only place that knows whether a step is in flight.
package stepqueue

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
)

// Queue runs steps in the order of Submit, on its own goroutine, which ends with Close.
// Everything reaches the goroutine by channels; only the number of steps in flight is
// shared. Its methods are safe for concurrent use and do not block.
type Queue struct {
	run     func(*gpu.StepBatch) (*gpu.StepResult, error)
	steps   chan step     // has space for all steps in flight
	quiet   chan func()   // Quiesce; nil: a refused step's done has returned
	stopped chan struct{} // closed by Close

	inFlight atomic.Int32 // steps that run or wait; closedQueue after Close
	refused  atomic.Int32 // refused steps whose done has not returned
}

const closedQueue = -1

type step struct {
	batch *gpu.StepBatch
	done  func(*gpu.StepResult, error)
}

// New starts the goroutine. A panic in run becomes the step's error.
func New(run func(*gpu.StepBatch) (*gpu.StepResult, error)) *Queue {
	q := &Queue{run: run, steps: make(chan step, gpu.StepsInFlight), quiet: make(chan func()), stopped: make(chan struct{})}
	go q.serve()
	return q
}

func (q *Queue) serve() {
	var waiting []func() // for quiet
	for open := true; open; {
		select {
		case s := <-q.steps:
			result, err := q.guarded(s.batch)
			q.inFlight.Add(-1) // done may submit the next
			s.done(result, err)
		case f := <-q.quiet:
			if f != nil {
				waiting = append(waiting, f)
			}
		case <-q.stopped:
			open = false
		}
		if open && (q.inFlight.Load() > 0 || q.refused.Load() > 0) {
			continue
		}
		for _, f := range waiting {
			f()
		}
		waiting = waiting[:0]
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
	for {
		n := q.inFlight.Load()
		switch {
		case n == closedQueue:
			q.refuse(done, errors.New("step: the model is closed"))
		case n == gpu.StepsInFlight:
			q.refuse(done, fmt.Errorf("step: %d steps are in flight, which is the maximum", n))
		case q.inFlight.CompareAndSwap(n, n+1):
			q.steps <- step{b, done} // has space
		default:
			continue // another goroutine was faster
		}
		return
	}
}

// refuse ends a step that is not accepted, while another one may run.
func (q *Queue) refuse(done func(*gpu.StepResult, error), why error) {
	q.refused.Add(1)
	go func() {
		done(nil, why)
		q.refused.Add(-1)
		q.wake(nil)
	}()
}

// Quiesce implements gpu.Model.
func (q *Queue) Quiesce(done func()) {
	go func() {
		if !q.wake(done) {
			done()
		}
	}()
}

// wake passes f, or nil, to the goroutine. It reports false if the queue is closed.
func (q *Queue) wake(f func()) bool {
	select {
	case q.quiet <- f:
		return true
	case <-q.stopped:
		return false
	}
}

// Idle returns an error while a step is in flight, and after Close.
func (q *Queue) Idle() error {
	switch n := q.inFlight.Load(); {
	case n == closedQueue:
		return errors.New("the model is closed")
	case n > 0:
		return errors.New("a step is in flight")
	}
	return nil
}

// Close ends the goroutine; no step may be in flight. It may be called from the done of
// the last step. first: the queue was open.
func (q *Queue) Close() (first bool, err error) {
	if q.inFlight.CompareAndSwap(0, closedQueue) {
		close(q.stopped)
		return true, nil
	}
	if q.inFlight.Load() == closedQueue {
		return false, nil
	}
	return false, fmt.Errorf("cannot close the model: %w", q.Idle())
}
