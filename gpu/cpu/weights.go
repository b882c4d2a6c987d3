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

// panel is panel i and what follows it.
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

// formOf is the form that holds a type of weights as it is.
func formOf(d gpu.DType) (form layout.Form, ok bool) {
	switch d {
	case gpu.F32:
		return layout.F32, true
	case gpu.BF16:
		return layout.BF16, true
	case gpu.F16:
		return layout.F16, true
	case gpu.Q8_0:
		return layout.Q8, true
	case gpu.Q4_0:
		return layout.Q4, true
	case gpu.Q4_1:
		return layout.Q41, true
	case gpu.Q4_K:
		return layout.Q4K, true
	case gpu.Q6_K:
		return layout.Q6K, true
	}
	return 0, false
}
