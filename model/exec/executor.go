// Package exec runs steps of an engine on a loaded model: it turns the deltas
// of messages.RunBatch into the complete steps of gpu.StepBatch and the
// device's results back into messages.BatchDone.
//
// It owns the first level of the KV pools, one entry per row: the request, its
// tokens (prompt, output and what was sampled since), its page table, and the
// counts that penalties need. Everything a draw depends on comes from there,
// so a row that was closed and opened again with the same tokens goes on with
// the same bits.
//
// # Concurrency properties
//
//   - Submit, Reset and Quiesce may be called from any goroutine. One step is
//     under way at a time; another Submit meanwhile fails by itself and
//     changes nothing.
//   - A callback runs on the goroutine of Submit (refused steps) or on the
//     device's, never under a lock, exactly once, and must not block.
//   - Between a step's Submit and its callback nobody but the device reads the
//     rows' slices; the mutex only orders the two goroutines at the seam.
package exec

import (
	"errors"
	"fmt"
	"sync"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// Options are the dimensions of an executor. All are hard: a step beyond one
// fails.
type Options struct {
	MaxRows  int // rows of the request table, >= 1; example 64
	PageSize int // tokens per page, a power of two; as the model's pool; example 16
	Pages    int // usable pages 1..Pages; as the model's pool; example 4096
	Context  int // tokens of a row at most, >= 1; example 2048
	Vocab    int // tokens are 0..Vocab-1; example 32000
}

// Validate reports the first option that is out of range.
func (o Options) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"MaxRows", o.MaxRows}, {"PageSize", o.PageSize}, {"Pages", o.Pages}, {"Context", o.Context}, {"Vocab", o.Vocab}} {
		if f.value < 1 {
			return fmt.Errorf("executor: %s is %d, must be at least 1", f.name, f.value)
		}
	}
	if err := paging.CheckSize(o.PageSize); err != nil {
		return fmt.Errorf("executor: PageSize %w", err)
	}
	return nil
}

// Executor computes steps. Construct it with New.
type Executor struct {
	model gpu.Model
	opt   Options
	// finish is complete as a value, made once so that a step allocates none.
	finish func(*gpu.StepResult, error)

	mu     sync.Mutex
	rows   []row // [MaxRows]
	epoch  messages.Epoch
	step   messages.StepID
	failed error // why nothing runs before Reset

	// The step under way, valid while done is set. Rows may be replaced by
	// Reset meanwhile; then stale is set and its results are dropped.
	busy  bool
	stale bool
	batch *messages.RunBatch
	done  func(*messages.BatchDone, error)
	gpu   gpu.StepBatch // reused; sequences in the order of Work

	answers answers

	quiesced []func() // called once nothing is under way
}

// New makes an executor without open rows. The model must have a pool of
// Options.Pages pages of Options.PageSize. It panics on options that Validate
// refuses.
func New(model gpu.Model, opt Options) *Executor {
	if err := opt.Validate(); err != nil {
		panic(err)
	}
	e := &Executor{model: model, opt: opt, rows: make([]row, opt.MaxRows)}
	e.finish = e.complete
	return e
}

var errBusy = errors.New("executor: a step is under way; wait for its end")

// Submit takes a step, whose slices are its own until it calls done, exactly
// once, with the results or an error. The results are good until the step after
// the next is complete. Errors of the device are handed on as they are. After a
// failed step every further one fails until Reset, because the rows are then in
// between.
func (e *Executor) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	if err := e.prepare(b, done); err != nil {
		done(nil, err)
		return
	}
	e.model.Submit(&e.gpu, e.finish)
}

// prepare brings the rows up to the step and builds it for the device.
func (e *Executor) prepare(b *messages.RunBatch, done func(*messages.BatchDone, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy {
		return errBusy
	}
	if e.failed != nil {
		return fmt.Errorf("executor: an earlier step failed and Reset was not called since: %w", e.failed)
	}
	if err := e.build(b); err != nil {
		e.failed = fmt.Errorf("executor: illegal step: epoch %d step %d: %w", b.Epoch, b.Step, err)
		return e.failed
	}
	e.busy, e.stale, e.batch, e.done = true, false, b, done
	return nil
}

// complete is the device's callback.
func (e *Executor) complete(result *gpu.StepResult, err error) {
	e.mu.Lock()
	done := e.done
	var out *messages.BatchDone
	if e.stale {
		err = errors.New("executor: Reset was called while the step was under way")
	} else {
		if err == nil {
			out, err = e.take(result)
		}
		e.failed = err
	}
	e.busy, e.batch, e.done = false, nil, nil
	e.mu.Unlock()
	done(out, err)
	e.tellQuiesced()
}

// Reset forgets all rows, for a new epoch. The pool keeps its contents. A step
// that is under way, which Quiesce should have waited for, ends in an error.
func (e *Executor) Reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy {
		// The device still reads the old rows' slices.
		e.stale = true
		e.rows = make([]row, e.opt.MaxRows)
	}
	for i := range e.rows {
		e.rows[i].release()
	}
	e.epoch, e.step, e.failed = 0, 0, nil
}

// Quiesce calls done once no step is under way and the device is quiet, at once
// if that is so.
func (e *Executor) Quiesce(done func()) {
	e.mu.Lock()
	e.quiesced = append(e.quiesced, done)
	e.mu.Unlock()
	e.tellQuiesced()
}

// tellQuiesced hands those who wait to the device once no step is under way
// here: its quiet includes the end of the callback that this may run in.
func (e *Executor) tellQuiesced() {
	e.mu.Lock()
	var waiting []func()
	if !e.busy {
		waiting, e.quiesced = e.quiesced, nil
	}
	e.mu.Unlock()
	for _, f := range waiting {
		e.model.Quiesce(f)
	}
}
