package ref

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/rows"
	"github.com/troupe-engine/troupe/gpu/stepqueue"
)

type model struct {
	program *gpu.Program
	weights [][]float32
	alter   func([]rows.Sequence)
	pool    gpu.PoolSpec
	rows    *rows.Table // nil before NewPool
	// keys and values, [layer][slot][head*head_dim], already rounded to the
	// pool's type; slot = page * PageSize + position within the page.
	keys, values [][]float32
	*stepqueue.Queue
}

func (m *model) NewPool(spec gpu.PoolSpec) error {
	if err := spec.Check(m.program); err != nil {
		return err
	}
	if err := m.Idle(); err != nil {
		return fmt.Errorf("cannot allocate the KV pool: %w", err)
	}
	kv := m.program.KV
	n := (spec.Pages + 1) * spec.PageSize * kv.Heads * kv.HeadDim
	m.keys, m.values = make([][]float32, kv.Layers), make([][]float32, kv.Layers)
	for l := range kv.Layers {
		m.keys[l], m.values[l] = make([]float32, n), make([]float32, n)
	}
	m.pool, m.rows = spec, rows.New(m.program, spec)
	return nil
}

// step runs one step, on the queue's goroutine.
func (m *model) step(b *gpu.StepBatch) (*gpu.StepResult, error) {
	return m.rows.Run(b, func(sequences []rows.Sequence) error {
		if m.alter != nil {
			m.alter(sequences)
		}
		return newStep(m, sequences).run()
	})
}

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

// Close implements gpu.Model. Closing again does nothing.
func (m *model) Close() error {
	first, err := m.Queue.Close()
	if first {
		m.weights, m.keys, m.values = nil, nil, nil
	}
	return err
}
