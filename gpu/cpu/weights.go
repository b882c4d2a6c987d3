package cpu

import (
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// matrix is a weight in memory: a matrix in panels, or a vector in f32.
type matrix struct {
	rows, cols int
	form       layout.Form
	panels     []byte    // layout.Panels(rows) of them, in the arena of weights
	f32        []float32 // of a vector
}

// panel is the panels from i on.
func (m *matrix) panel(i int) []byte { return m.panels[i*m.form.PanelBytes(m.cols):] }

// row widens a row of a matrix into buf.
func (m *matrix) row(i int, buf []float32) []float32 {
	buf = buf[:m.cols]
	layout.Row(m.form, m.panel(i/layout.PanelRows), m.cols, i%layout.PanelRows, buf)
	return buf
}

// weights are a program's, in order of its specs.
type weights struct {
	all   []matrix
	arena []byte // of all panels
	bytes int64
	free  func() error // the arena
	users atomic.Int32 // models that use them
}

// release frees the weights with their last user.
func (w *weights) release() error {
	if w.users.Add(-1) > 0 {
		return nil
	}
	return w.free()
}

// forms are the forms that hold a type of weights without change.
var forms = map[gpu.DType]layout.Form{
	gpu.F32: layout.F32, gpu.BF16: layout.BF16, gpu.F16: layout.F16, gpu.Q8_0: layout.Q8,
	gpu.Q4_0: layout.Q4, gpu.Q4_1: layout.Q41, gpu.Q4_K: layout.Q4K, gpu.Q6_K: layout.Q6K,
}

// WeightBytesRead implements gpu.WeightReader: the size in memory of every matrix of a
// product and every vector, counted once. An embedding, of which a step reads only the
// rows of its tokens, is left out.
func (m *model) WeightBytesRead() int64 {
	seen := make([]bool, len(m.weights.all))
	total := int64(0)
	read := func(w gpu.Weight) {
		if w == gpu.NoWeight || seen[w] {
			return
		}
		seen[w] = true
		x := &m.weights.all[w]
		total += int64(len(x.panels)) + 4*int64(len(x.f32))
	}
	for _, op := range m.program.Ops {
		switch op := op.(type) {
		case gpu.Linear:
			read(op.W)
			read(op.Bias)
		case gpu.RMSNorm:
			read(op.Gain)
		}
	}
	return total
}
