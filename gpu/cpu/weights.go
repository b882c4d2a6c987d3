package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
)

// matrix is a weight in memory: a matrix in panels, or a vector in f32.
type matrix struct {
	rows, cols int
	form       kernel.Form
	panels     []byte    // kernel.Panels(rows) of them, in the arena of weights
	f32        []float32 // of a vector
}

// panel is panel i and what follows it.
func (m *matrix) panel(i int) []byte { return m.panels[i*m.form.PanelBytes(m.cols):] }

// row widens a row of a matrix into buf.
func (m *matrix) row(i int, buf []float32) []float32 {
	buf = buf[:m.cols]
	kernel.Row(m.form, m.panel(i/kernel.PanelRows), m.cols, i%kernel.PanelRows, buf)
	return buf
}

// weights are a program's, in order of its specs.
type weights struct {
	all   []matrix
	arena []byte // of all panels
	bytes int64
	free  func() error // the arena
}

// formOf is the form that holds a type of weights as it is.
func formOf(d gpu.DType) (form kernel.Form, ok bool) {
	switch d {
	case gpu.F32:
		return kernel.F32, true
	case gpu.BF16:
		return kernel.BF16, true
	case gpu.F16:
		return kernel.F16, true
	case gpu.Q8_0:
		return kernel.Q8, true
	case gpu.Q4_0:
		return kernel.Q4, true
	case gpu.Q4_1:
		return kernel.Q41, true
	case gpu.Q4_K:
		return kernel.Q4K, true
	case gpu.Q6_K:
		return kernel.Q6K, true
	}
	return 0, false
}
