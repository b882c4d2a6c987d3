package kernels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
)

// Rows and Cols are a projection of a model of 1.5 billion parameters.
const (
	Rows = 8960
	Cols = 1536
)

// weights are matrices side by side: as in a model, no product finds its own in a cache.
type weights struct {
	form     layout.Form
	memory   []byte
	rows     int
	matrices int
	next     int
}

// fill writes as many random matrices as memory holds; all panels are alike.
func fill(f layout.Form, memory []byte, rows int) (*weights, error) {
	size := f.PanelBytes(Cols)
	n := len(memory) / (layout.Panels(rows) * size)
	if n == 0 {
		return nil, fmt.Errorf("--read-bytes is %d, too small for a matrix [%d, %d] of %s, which takes %d; raise it", len(memory), rows, Cols, f, layout.Panels(rows)*size)
	}
	var encoded bytes.Buffer // elements of about a thirtieth, so that products stay small
	if err := ggufwrite.Random(dtypes[f], layout.PanelRows*Cols, 0, 1.0/32, 1)(&encoded); err != nil {
		return nil, err
	}
	panels := memory[:n*layout.Panels(rows)*size]
	layout.Pack(f, panels[:size], Cols, slices.Collect(slices.Chunk(encoded.Bytes(), f.RowBytes(Cols))))
	for done := size; done < len(panels); done *= 2 {
		copy(panels[done:], panels[:done])
	}
	return &weights{form: f, memory: panels, rows: rows, matrices: n}, nil
}

// dtypes are the stored types of the forms.
var dtypes = map[layout.Form]gpu.DType{
	layout.F32: gpu.F32, layout.BF16: gpu.BF16, layout.F16: gpu.F16, layout.Q8: gpu.Q8_0, layout.Q4: gpu.Q4_0,
	layout.Q41: gpu.Q4_1, layout.Q4K: gpu.Q4_K, layout.Q6K: gpu.Q6_K,
}

// matrix is the next one.
func (w *weights) matrix() []byte {
	size := len(w.memory) / w.matrices
	at := w.next * size
	w.next = (w.next + 1) % w.matrices
	return w.memory[at : at+size]
}

// normal is random numbers, the same for the same n.
func normal(n int) []float32 {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// product is a product of the next matrix and activations as the device computes it,
// laying the activations out included. They are float32, or rounded to int8.
func (w *weights) product(l simd.Level, tokens int, rounded bool) (Case, error) {
	c := Case{
		Level: l, Kernel: "gemm", Form: w.form.String(), Tokens: tokens, Shape: fmt.Sprintf("[%d, %d]", w.rows, Cols),
		Bytes: float64(len(w.memory) / w.matrices), Operations: 2 * float64(tokens) * float64(w.rows) * Cols,
		Cold: true, Limit: MultiplyAdd,
	}
	activations := "f32"
	if rounded {
		c.Kernel, c.Limit, activations = "integer gemm", IntegerDot, "int8"
		if l == simd.Portable {
			c.Limit = NoLimit // compilers decide what plain Go could do at most
		}
	}
	p := &gpu.Program{
		Buffers: []gpu.BufferSpec{{Name: "x", Width: Cols}, {Name: "y", Width: w.rows}},
		Weights: []gpu.WeightSpec{{Name: "w", Shape: []int{w.rows, Cols}}},
		Ops:     []gpu.Op{gpu.Linear{In: 0, Out: 1, W: 0, Bias: gpu.NoWeight}},
	}
	ops, err := cpu.NewOps(p, w.form, gpu.PoolSpec{}, nil, cpu.Options{Threads: 1, InstructionSet: l.String(), Activations: activations})
	if err != nil {
		return c, err
	}
	ops.Prepare(0, tokens, make([]int32, tokens))
	copy(ops.Buffer(0), normal(tokens*Cols))
	c.y, c.Do = ops.Buffer(1), func() { ops.Run(w.matrix()) }
	return c, nil
}
