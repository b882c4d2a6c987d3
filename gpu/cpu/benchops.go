package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// Ops runs ops on the calling goroutine as a step does, over memory of the caller,
// for benchmarks. The ops come before any Gather.
type Ops struct{ model *model }

// NewOps compiles the ops of a program whose weights are matrices of one form. The KV
// pool is kept in kv; of I8, the scales of all slots come first.
func NewOps(p *gpu.Program, form layout.Form, spec gpu.PoolSpec, kv []byte, o Options) (*Ops, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	w := &weights{}
	for _, s := range p.Weights {
		w.all = append(w.all, matrix{rows: s.Shape[0], cols: s.Shape[1], form: form})
	}
	m := idleModel(p, w, o)
	m.pool = poolOf(spec, p.KV)
	if len(kv) > 0 {
		m.pool.use(kv)
	}
	return &Ops{model: m}, nil
}

// Prepare makes room for tokens of one sequence at positions from start on. The page
// table is kept: what Run reads follows its changes.
func (o *Ops) Prepare(start, tokens int, pages []int32) {
	o.model.step.prepare([]rows.Sequence{{Start: start, Tokens: make([]int32, tokens), Pages: pages}})
}

// Buffer is the memory of a buffer. Rows begin whole panels of elements apart.
func (o *Ops) Buffer(b gpu.Buffer) []float32 {
	s := &o.model.step
	return s.buffers[b][:s.rows(b)*s.stride(b)]
}

// Run runs the ops with the panels of each matrix.
func (o *Ops) Run(panels ...[]byte) {
	m := o.model
	for i := range panels {
		m.weights.all[i].panels = panels[i]
	}
	for i := range m.body {
		units, _ := m.step.open(i)
		for unit := range units {
			_ = m.step.unit(0, unit) // only Sample fails
		}
	}
}
