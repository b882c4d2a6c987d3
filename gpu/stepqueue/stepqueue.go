// Package stepqueue runs the steps of a gpu.Model in order. With New a step is one call: one
// runs, one may wait. With NewAhead it is two calls, for devices that compute beside the
// host: a step begins while the one before it is computed. It is the only place that knows
// whether a step is in flight.
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
	begin   func(*gpu.StepBatch) error // nil: steps have no beginning of their own
	end     func(*gpu.StepBatch) (*gpu.StepResult, error)
	steps   chan step     // has space for all steps in flight
	begun   chan step     // so does this
	quiet   chan func()   // Quiesce; nil: the done of a refused step has returned
	ended   chan struct{} // the done of a step has returned; has space for one
	stopped chan struct{} // closed by Close

	inFlight  atomic.Int32 // steps that run or wait; closedQueue after Close
	returning atomic.Int32 // steps that are not in flight, whose done has not returned
}

const closedQueue = -1

type step struct {
	batch *gpu.StepBatch
	done  func(*gpu.StepResult, error)
	err   error // of begin
}

// New makes a queue of steps that are one call. A panic in run becomes the step's error.
func New(run func(*gpu.StepBatch) (*gpu.StepResult, error)) *Queue { return start(nil, run) }

// NewAhead makes a queue whose steps begin with one call and end with another one. Each of
// the two has its goroutine. A step whose begin fails has no end. A panic in either becomes
// the step's error.
func NewAhead(begin func(*gpu.StepBatch) error, end func(*gpu.StepBatch) (*gpu.StepResult, error)) *Queue {
	return start(begin, end)
}

func start(begin func(*gpu.StepBatch) error, end func(*gpu.StepBatch) (*gpu.StepResult, error)) *Queue {
	q := &Queue{begin: begin, end: end, steps: make(chan step, gpu.StepsInFlight), begun: make(chan step, gpu.StepsInFlight),
		quiet: make(chan func()), ended: make(chan struct{}, 1), stopped: make(chan struct{})}
	go q.serve()
	if begin != nil {
		go func() {
			for s := range q.begun {
				q.finish(s)
				select { // serve may be in begin, which may wait for the next end
				case q.ended <- struct{}{}:
				default: // it has not seen the one before
				}
			}
		}()
	}
	return q
}

func (q *Queue) serve() {
	defer close(q.begun)
	var waiting []func() // for quiet
	for open := true; open; {
		select {
		case s := <-q.steps:
			if q.begin == nil {
				q.finish(s)
				break
			}
			_, s.err = guarded(func() (*gpu.StepResult, error) { return nil, q.begin(s.batch) })
			q.begun <- s // has space
		case f := <-q.quiet:
			if f != nil {
				waiting = append(waiting, f)
			}
		case <-q.ended:
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

// finish ends a step and calls its done.
func (q *Queue) finish(s step) {
	var result *gpu.StepResult
	if s.err == nil {
		result, s.err = guarded(func() (*gpu.StepResult, error) { return q.end(s.batch) })
	}
	q.returning.Add(1)
	q.inFlight.Add(-1) // done may submit the next
	s.done(result, s.err)
	q.returning.Add(-1)
}

// guarded turns a panic into an error.
func guarded(f func() (*gpu.StepResult, error)) (result *gpu.StepResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("step: panic: %v\n%s", p, debug.Stack())
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
			q.refuse(done, errors.New("step: the model is closed"))
		case n == gpu.StepsInFlight:
			q.refuse(done, fmt.Errorf("step: %d steps are in flight, which is the maximum", n))
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
