package cpu

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// model implements gpu.Model.
type model struct {
	program  *gpu.Program
	level    simd.Level
	numerics gpu.Numerics
	weights  *weights
	compiled
	team    *team
	scratch []*scratch // per worker
	step    step
	pool    *pool
	// activations is what step holds and workspace what scratch does, in bytes,
	// as of the last step: Bytes may be asked while one runs.
	activations, workspace atomic.Int64

	// submitted feeds the goroutine that runs steps; closed by Close.
	submitted chan submission

	mu      sync.Mutex
	running bool     // a step computes
	pending int      // steps whose done has not returned
	waiting []func() // Quiesce
	closed  bool
}

type submission struct {
	batch *gpu.StepBatch
	done  func(*gpu.StepResult, error)
}

func newModel(p *gpu.Program, weights *weights, o Options) *model {
	threads := o.Threads
	m := &model{
		program: p, level: o.level, numerics: o.numerics(), weights: weights,
		submitted: make(chan submission, 1),
	}
	m.compiled = compile(p, weights.all, &o)
	for range threads {
		m.scratch = append(m.scratch, newScratch(p, &m.compiled))
	}
	m.step = step{model: m, buffers: make([][]float32, len(p.Buffers))}
	m.step.products, m.step.next = lookAheads(slices.Concat(m.body, m.tail))
	m.team = newTeam(threads, m.step.wait)
	m.countActivations()
	go m.serve()
	return m
}

// serve runs steps until Close; it leads the team.
func (m *model) serve() {
	for sub := range m.submitted {
		result, err := m.guarded(sub.batch)
		m.mu.Lock()
		m.running = false // done may submit the next
		m.mu.Unlock()
		sub.done(result, err)
		m.finish()
	}
}

// guarded turns a panic outside the team's units into an error.
func (m *model) guarded(batch *gpu.StepBatch) (result *gpu.StepResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("step: panic: %v\n%s", p, debug.Stack())
		}
		m.countActivations()
	}()
	return m.step.run(batch)
}

// countActivations runs between steps.
func (m *model) countActivations() {
	m.activations.Store(m.step.bytes())
	n := int64(0)
	for _, s := range m.scratch {
		n += s.bytes()
	}
	m.workspace.Store(n)
}

// Submit implements gpu.Model.
func (m *model) Submit(batch *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending++
	var refusal string
	switch {
	case m.closed:
		refusal = "step: the model is closed"
	case m.running:
		refusal = "step: another step is under way; wait for its done"
	case m.pool == nil:
		refusal = "step: there is no KV pool; call NewPool first"
	default:
		m.running = true
		m.submitted <- submission{batch, done} // has room: nothing else runs
		return
	}
	go func() {
		done(nil, errors.New(refusal))
		m.finish()
	}()
}

// finish tells those who wait for quiet.
func (m *model) finish() {
	m.mu.Lock()
	m.pending--
	var tell []func()
	if m.pending == 0 {
		tell, m.waiting = m.waiting, nil
	}
	m.mu.Unlock()
	for _, f := range tell {
		f()
	}
}

// idle is an error while a step is under way or after Close.
func (m *model) idle() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errors.New("the model is closed")
	}
	if m.running {
		return errors.New("a step is under way; wait for its done")
	}
	return nil
}

// NewPool implements gpu.Model.
func (m *model) NewPool(spec gpu.PoolSpec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if err := m.numerics.CheckKV(spec.DType); err != nil {
		return fmt.Errorf("cpu device: %w", err)
	}
	if err := m.idle(); err != nil {
		return fmt.Errorf("new KV pool: %w", err)
	}
	if m.pool != nil { // first, so that the two need not fit at once
		old := m.pool
		m.pool = nil
		if err := old.free(); err != nil {
			return fmt.Errorf("new KV pool: free the old one: %w", err)
		}
	}
	p, err := newPool(spec, m.program.KV)
	if err != nil {
		return err
	}
	m.pool = p
	return nil
}

// CopyPages implements gpu.Model.
func (m *model) CopyPages(src, dst []int32) error {
	if err := m.idle(); err != nil {
		return fmt.Errorf("copy of pages: %w", err)
	}
	if m.pool == nil {
		return errors.New("copy of pages: there is no KV pool; call NewPool first")
	}
	if err := m.pool.spec.CheckPages(src, dst); err != nil {
		return err
	}
	m.pool.copyPages(src, dst)
	return nil
}

// Quiesce implements gpu.Model.
func (m *model) Quiesce(done func()) {
	m.mu.Lock()
	if m.pending > 0 {
		m.waiting = append(m.waiting, done)
		m.mu.Unlock()
		return
	}
	m.mu.Unlock()
	done()
}

// Bytes implements gpu.Model.
func (m *model) Bytes() map[string]int64 {
	b := map[string]int64{"activations": m.activations.Load(), "workspace": m.workspace.Load()}
	if m.weights != nil {
		b["weights"] = m.weights.bytes
	}
	if m.pool != nil {
		b["kv"] = int64(m.pool.bytes)
	}
	return b
}

// Close implements gpu.Model. Closing again does nothing. It may be called from
// the done of the last step.
func (m *model) Close() error {
	m.mu.Lock()
	if m.running {
		m.mu.Unlock()
		return errors.New("close: a step is under way; wait for Quiesce")
	}
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()
	close(m.submitted) // ends serve
	m.team.close()
	err := m.weights.free()
	m.weights = nil
	if m.pool == nil {
		return err
	}
	p := m.pool
	m.pool = nil
	return errors.Join(err, p.free())
}
