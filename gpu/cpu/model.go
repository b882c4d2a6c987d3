package cpu

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/rows"
	"github.com/troupe-engine/troupe/gpu/stepqueue"
)

// model implements gpu.Model.
type model struct {
	program *gpu.Program
	level   simd.Level
	weights *weights
	options Options
	shares  bool // another model counts the weights
	compiled
	workers *workerPool
	scratch []*scratch // per worker
	step    step
	pool    *pool
	rows    *rows.Table
	compute func([]rows.Sequence) error // step.run, made a value once
	// activations is the size of step and workspace that of scratch, in bytes, after the
	// last step: Bytes may be called while one runs.
	activations, workspace atomic.Int64
	// Queue runs the steps; its goroutine leads the worker pool.
	*stepqueue.Queue
}

func newModel(p *gpu.Program, weights *weights, o Options) *model {
	m := idleModel(p, weights, o)
	weights.users.Add(1)
	m.compute = m.step.run
	m.workers = newWorkerPool(o.Threads, m.step.wait)
	m.countActivations()
	m.Queue = stepqueue.New(m.runStep)
	return m
}

// idleModel is a model without goroutines.
func idleModel(p *gpu.Program, weights *weights, o Options) *model {
	m := &model{program: p, level: o.level, weights: weights, options: o}
	m.compiled = compile(p, weights.all, &o)
	for range o.Threads {
		m.scratch = append(m.scratch, newScratch(p, &m.compiled))
	}
	m.step = step{model: m, buffers: make([][]float32, len(p.Buffers))}
	m.step.products, m.step.next = lookAheads(slices.Concat(m.body, m.tail))
	return m
}

// runStep does a step, on the queue's goroutine.
func (m *model) runStep(b *gpu.StepBatch) (*gpu.StepResult, error) {
	defer m.countActivations()
	return m.rows.Run(b, m.compute)
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

func (m *model) NewPool(spec gpu.PoolSpec) error {
	if err := spec.Check(m.program); err != nil {
		return err
	}
	if err := m.Idle(); err != nil {
		return fmt.Errorf("cannot allocate the KV pool: %w", err)
	}
	if m.pool != nil { // first, so that the two need not fit at once
		old := m.pool
		m.pool, m.rows = nil, nil
		if err := old.free(); err != nil {
			return fmt.Errorf("cannot free the old KV pool: %w", err)
		}
	}
	p, err := newPool(spec, m.program.KV)
	if err != nil {
		return err
	}
	m.pool, m.rows = p, rows.New(m.program, spec)
	return nil
}

func (m *model) Bytes() map[string]int64 {
	b := map[string]int64{"activations": m.activations.Load(), "workspace": m.workspace.Load()}
	if m.weights != nil && !m.shares {
		b["weights"] = m.weights.bytes
	}
	if m.pool != nil {
		b["kv"] = int64(m.pool.bytes)
	}
	return b
}

// Share implements gpu.Sharer.
func (m *model) Share() gpu.Model {
	other := newModel(m.program, m.weights, m.options)
	other.shares = true
	return other
}

// Close implements gpu.Model. It may be called again, and from the done of the last step.
func (m *model) Close() error {
	first, err := m.Queue.Close()
	if !first {
		return err
	}
	m.workers.close()
	err = m.weights.release()
	m.weights = nil
	if m.pool == nil {
		return err
	}
	p := m.pool
	m.pool = nil
	return errors.Join(err, p.free())
}
