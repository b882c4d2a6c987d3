package ref

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/troupe-engine/troupe/gpu"
)

// model implements gpu.Model.
type model struct {
	program *gpu.Program
	weights [][]float32
	pool    gpu.PoolSpec
	// keys and values, [layer][slot][head*head_dim], already rounded to the
	// pool's type; slot = page * PageSize + position within the page.
	keys, values [][]float32

	mu      sync.Mutex
	running bool     // a step computes
	pending int      // steps whose done has not returned
	waiting []func() // Quiesce
	closed  bool
}

// NewPool implements gpu.Model.
func (m *model) NewPool(spec gpu.PoolSpec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if err := m.idle(); err != nil {
		return fmt.Errorf("new KV pool: %w", err)
	}
	kv := m.program.KV
	n := (spec.Pages + 1) * spec.PageSize * kv.Heads * kv.HeadDim
	m.keys, m.values = make([][]float32, kv.Layers), make([][]float32, kv.Layers)
	for l := range kv.Layers {
		m.keys[l], m.values[l] = make([]float32, n), make([]float32, n)
	}
	m.pool = spec
	return nil
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

// Submit implements gpu.Model.
func (m *model) Submit(batch *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	m.mu.Lock()
	m.pending++
	var refuse error
	switch {
	case m.closed:
		refuse = errors.New("step: the model is closed")
	case m.running:
		refuse = errors.New("step: another step is under way; wait for its done")
	case m.keys == nil:
		refuse = errors.New("step: there is no KV pool; call NewPool first")
	default:
		m.running = true
	}
	m.mu.Unlock()
	go func() {
		result, err := (*gpu.StepResult)(nil), refuse
		if refuse == nil {
			result, err = m.step(batch)
			m.mu.Lock()
			m.running = false // done may submit the next
			m.mu.Unlock()
		}
		done(result, err)
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

// step turns a panic into an error, as every device does.
func (m *model) step(batch *gpu.StepBatch) (result *gpu.StepResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("step: panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := batch.Check(m.program, m.pool); err != nil {
		return nil, err
	}
	return newStep(m, batch).run()
}

// CopyPages implements gpu.Model.
func (m *model) CopyPages(src, dst []int32) error {
	if err := m.idle(); err != nil {
		return fmt.Errorf("copy of pages: %w", err)
	}
	if m.keys == nil {
		return errors.New("copy of pages: there is no KV pool; call NewPool first")
	}
	if err := m.pool.CheckPages(src, dst); err != nil {
		return err
	}
	page := m.pool.PageSize * m.program.KV.Heads * m.program.KV.HeadDim
	for i := range src {
		from, to := int(src[i])*page, int(dst[i])*page
		for l := range m.keys {
			copy(m.keys[l][to:to+page], m.keys[l][from:])
			copy(m.values[l][to:to+page], m.values[l][from:])
		}
	}
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
	var b [2]int64
	for _, w := range m.weights {
		b[0] += 4 * int64(len(w))
	}
	for l := range m.keys {
		b[1] += 4 * int64(len(m.keys[l])+len(m.values[l]))
	}
	return map[string]int64{"weights": b[0], "kv": b[1]}
}

// Close implements gpu.Model.
func (m *model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		return errors.New("close: a step is under way; wait for Quiesce")
	}
	m.closed, m.weights, m.keys, m.values = true, nil, nil, nil
	return nil
}
