package cpu

import (
	"encoding/binary"
	"math"

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
	bytes int64
	free  func() error // the arena
}

// formOf is how a type of weights is kept: as it is.
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
	}
	return 0, false
}

// widened is a vector of any type that stores elements one by one.
func widened(t gpu.Tensor) []float32 {
	out := make([]float32, t.Shape[0])
	for i := range out {
		switch t.DType {
		case gpu.F32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		case gpu.BF16:
			out[i] = gpu.FromBF16(binary.LittleEndian.Uint16(t.Data[2*i:]))
		case gpu.F16:
			out[i] = gpu.FromF16(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
	}
	return out
}
