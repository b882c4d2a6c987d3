// Package stepqueue runs the steps of a gpu.Model in order. With New a step is one call: one
// runs, one may wait. NewAhead is for devices that compute beside the host: a step begins
// while the one before it is computed. It is the only place that knows whether a step is in
// flight.
package stepqueue

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
)

// Queue runs steps in the order of Submit, on its own goroutines, which end with Close.
// Everything reaches them by channels; only numbers of steps are shared. Its methods are
// safe for concurrent use and do not block.
type Queue struct {
	run     func(*gpu.StepBatch) (*gpu.StepResult, error)
	ahead   Ahead         // instead of run
	steps   chan step     // has space for all steps in flight
	begun   chan step     // so does this
	over    chan step     // and this: what the device is done with
	quiet   chan func()   // Quiesce; nil: the done of a refused step has returned
	stopped chan struct{} // closed by Close

	inFlight  atomic.Int32 // steps that run or wait; closedQueue after Close
	returning atomic.Int32 // refused steps whose done has not returned
}

const closedQueue = -1

type step struct {
	batch *gpu.StepBatch
	done  func(*gpu.StepResult, error)
	err   error // of begin or wait
}

// Ahead are the calls for a step that the device computes beside the host. A panic in one
// becomes the step's error.
type Ahead struct {
	// Begin gives a step to the device. It reports false if it has to wait for the end of the
	// step before, after which it is called again.
	Begin func(*gpu.StepBatch) (bool, error)
	// Wait returns when the device is done with the next step whose Begin had no error. It has
	// a goroutine of its own; the others are called on one goroutine.
	Wait func() error
	// End returns the results of that step, or its error. It gets the error of Wait.
	End func(error) (*gpu.StepResult, error)
}

// New makes a queue of steps that are one call. A panic in run becomes the step's error.
func New(run func(*gpu.StepBatch) (*gpu.StepResult, error)) *Queue {
	q := newQueue()
	q.run = run
	go q.serve()
	return q
}

// NewAhead makes a queue whose steps begin while the one before them is computed.
func NewAhead(a Ahead) *Queue {
	q := newQueue()
	q.ahead = a
	go q.serve()
	go q.wait()
	return q
}

func newQueue() *Queue {
	steps := func() chan step { return make(chan step, gpu.StepsInFlight) }
	return &Queue{steps: steps(), begun: steps(), over: steps(), quiet: make(chan func()), stopped: make(chan struct{})}
}

// wait passes on steps when the device is done with them.
func (q *Queue) wait() {
	for s := range q.begun {
		if s.err == nil {
			s.err = guarded(q.ahead.Wait)
		} else {
			s.err = notBegun{s.err}
		}
		q.over <- s // has space
	}
}

// notBegun is the error of Begin: the step has nothing to wait for, and no end.
type notBegun struct{ error }

func (q *Queue) serve() {
	defer close(q.begun)
	var waiting []func()           // for quiet
	next, steps := step{}, q.steps // steps is nil while the next step has to wait for the one before
	for open := true; open; {
		select {
		case next = <-steps:
			if q.run == nil {
				steps = q.begin(next)
				break
			}
			q.end(next)
		case s := <-q.over:
			q.end(s)
			if steps == nil {
				steps = q.begin(next)
			}
		case f := <-q.quiet:
			if f != nil {
				waiting = append(waiting, f)
			}
		case <-q.stopped:
			open = false
		}
		if open && (q.inFlight.Load() > 0 || q.returning.Load() > 0) {
			continue
		}
		for _, f := range waiting {
			f()
		}
		waiting = waiting[:0]
	}
}

// begin begins a step and returns where the next ones come from: nil if it has to wait.
func (q *Queue) begin(s step) chan step {
	begun := false
	if s.err = guarded(func() (err error) { begun, err = q.ahead.Begin(s.batch); return err }); s.err == nil && !begun {
		return nil
	}
	q.begun <- s // has space
	return q.steps
}

// end ends a step and calls its done.
func (q *Queue) end(s step) {
	var result *gpu.StepResult
	early, failed := s.err.(notBegun)
	if failed {
		s.err = early.error
	} else {
		s.err = guarded(func() (err error) {
			if q.run != nil {
				result, err = q.run(s.batch)
			} else {
				result, err = q.ahead.End(s.err)
			}
			return err
		})
	}
	if s.err != nil {
		result = nil
	}
	q.inFlight.Add(-1) // done may submit the next
	s.done(result, s.err)
}

// guarded turns a panic into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// Submit implements gpu.Model.
func (q *Queue) Submit(b *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	for {
		n := q.inFlight.Load()
		switch {
		case n == closedQueue:
			q.refuse(done, errors.New("the model is closed"))
		case n == gpu.StepsInFlight:
			q.refuse(done, fmt.Errorf("%d steps are in flight, which is the maximum", n))
		case q.inFlight.CompareAndSwap(n, n+1):
			q.steps <- step{batch: b, done: done} // has space
		default:
			continue // another goroutine was faster
		}
		return
	}
}

// refuse ends a step that is not accepted, while another one may run.
func (q *Queue) refuse(done func(*gpu.StepResult, error), why error) {
	q.returning.Add(1)
	go func() {
		done(nil, why)
		q.returning.Add(-1)
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

// Close ends the goroutines; no step may be in flight. It may be called from the done of
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
