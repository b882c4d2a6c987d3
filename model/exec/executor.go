// Package exec runs an engine's steps on a loaded model. It translates
// messages.RunBatch into steps of package gpu, and the device's results into
// messages.BatchDone. The device keeps the rows and the steps in flight.
//
// # Parts
//
//	executor     steps from Submit to their end
//	stepbatch    a messages.RunBatch as a gpu.StepBatch
//	batchdone    a gpu.StepResult as a messages.BatchDone
//	constraint   masks of rows whose requests have a grammar
//	run          tokens that must come, which are computed in one step
//	mask         a mask that is made on another goroutine
//	logits       the raw logits of one sequence, without the engine
//
// # Concurrency properties
//
//   - Submit and Reset are called by the runner, one call at a time; Quiesce may
//     be called from any goroutine.
//   - A callback runs on the goroutine of Submit (steps that are refused here) or
//     on the device's, never under a lock, exactly once, and must not block.
//   - A mask is made on a goroutine of its own, beside the device, which asks for it when it
//     draws the token. A row whose mask is not ready is late; nobody waits for it.
package exec

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/grammar/store"
)

// Executor computes steps. Construct it with New.
type Executor struct {
	model gpu.Model
	opt   Options

	// Of the caller of Submit and Reset.
	epoch messages.Epoch // of the rows; 0 after Reset
	step  messages.StepID
	ready func(messages.RequestID)

	idle chan *flight // memory of steps that are done

	constraints constraints
	constrained map[messages.Row]*constraint // open rows with a grammar

	answers answers // of the device's goroutine
}

// Options configure an Executor.
type Options struct {
	// Vocab is the number of tokens of the model's vocabulary. Example: 128256.
	Vocab int
	// StepTokens is how many tokens a step may compute, as in gpu.PoolSpec: tokens that are
	// certain are added to a step while it has room. Hard. 0: no bound.
	StepTokens int
	// Grammars are those of requests. If it is nil, requests that have one fail alone.
	Grammars *store.Store
}

// New makes an executor of a model, which has a pool already; its limits apply to the steps.
func New(model gpu.Model, opt Options) *Executor {
	return &Executor{model: model, opt: opt, ready: func(messages.RequestID) {}, idle: make(chan *flight, gpu.StepsInFlight+1),
		constraints: constraints{store: opt.Grammars, turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}, constrained: map[messages.Row]*constraint{}}
}

// flight is a step between Submit and its end, with the memory of its translation.
type flight struct {
	batch  *messages.RunBatch
	done   func(*messages.BatchDone, error)
	finish func(*gpu.StepResult, error) // made once, so that a step allocates none

	step  gpu.StepBatch
	pages []int32 // those that the deltas name
	// constraints of the works that sample; nil: the row has none
	constraints []*constraint
}

// Submit runs a step. It owns the slices of the step until it calls done, exactly once,
// with the results or an error. If another step is running, this one is computed after
// it. The results are valid until the step after the next is done. Errors of the device
// are passed on unchanged. After a failed step every further one fails until Reset.
func (e *Executor) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	f, err := e.prepare(b, done)
	if err != nil {
		done(nil, fmt.Errorf("executor: invalid step (epoch %d, step %d): %w", b.Epoch, b.Step, err))
		return
	}
	e.model.Submit(&f.step, f.finish)
}

// prepare translates the next step of an epoch. A step that is refused changes nothing.
func (e *Executor) prepare(b *messages.RunBatch, done func(*messages.BatchDone, error)) (*flight, error) {
	switch {
	case e.epoch != 0 && b.Epoch != e.epoch:
		return nil, fmt.Errorf("the rows belong to epoch %d and were not reset", e.epoch)
	case b.Step != e.step+1:
		return nil, fmt.Errorf("out of order: the last step was %d", e.step)
	case len(b.Work) == 0:
		return nil, errors.New("the step has no rows")
	}
	f := e.flight()
	f.batch, f.done = b, done
	if err := f.translate(b, e.opt.Vocab); err != nil {
		e.keep(f)
		return nil, err
	}
	f.step.Reset = e.epoch == 0
	e.constrain(f)
	e.epoch, e.step = b.Epoch, b.Step
	return f, nil
}

// flight is memory for one more step.
func (e *Executor) flight() *flight {
	select {
	case f := <-e.idle:
		return f
	default:
	}
	f := &flight{}
	f.finish = func(r *gpu.StepResult, err error) { e.complete(f, r, err) }
	return f
}

// keep keeps memory for a later step, unless there is enough.
func (e *Executor) keep(f *flight) {
	select {
	case e.idle <- f:
	default:
	}
}

// complete is the device's callback.
func (e *Executor) complete(f *flight, r *gpu.StepResult, err error) {
	var out *messages.BatchDone
	if err == nil {
		out, err = e.take(f, r)
	}
	done, late := f.done, late(f, out)
	f.batch, f.done = nil, nil
	clear(f.constraints)
	e.keep(f)
	done(out, err)
	for _, c := range late {
		c.mask.want()
	}
}

// late are the constraints of a step's late rows.
func late(f *flight, out *messages.BatchDone) (list []*constraint) {
	if out == nil || len(out.Late) == 0 {
		return nil
	}
	for i, c := range f.constraints {
		if c != nil && slices.Contains(out.Late, f.batch.Work[i].Row) {
			list = append(list, c)
		}
	}
	return list
}

// Reset makes the next step close all rows, for a new epoch. The pool keeps its contents. ready
// is called for each late row once its mask is made, after the done that reported it.
func (e *Executor) Reset(ready func(messages.RequestID)) {
	e.epoch, e.step, e.ready = 0, 0, ready
	for _, c := range e.constrained {
		c.closed.Store(true)
	}
	clear(e.constrained)
}

// Quiesce calls done once no step is in flight.
func (e *Executor) Quiesce(done func()) { e.model.Quiesce(done) }
