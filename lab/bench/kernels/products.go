package kernels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/model/gguf/gguftest"
)

// Rows and Cols are a projection of a model of 1.5 billion parameters.
const (
	Rows = 8960
	Cols = 1536
)

// Blocks of tokens and bytes of weights that stay in caches, as the device has
// them, and how far ahead weights are fetched.
const (
	blockTokens = 192
	blockBytes  = 32 << 10
	ahead       = 8 << 10
)

// weights are matrices one after the other in memory, so that no product finds
// its matrix in a cache, as in a model.
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
		return nil, fmt.Errorf("%d bytes are too few for a matrix [%d, %d] of %s, which takes %d; use more", len(memory), rows, Cols, f, layout.Panels(rows)*size)
	}
	var encoded bytes.Buffer // elements of about a thirtieth, so that products stay small
	if err := gguftest.Random(dtypes[f], layout.PanelRows*Cols, 0, 1.0/32, 1)(&encoded); err != nil {
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

// exact is a product with activations in float32, laying them out included.
func (w *weights) exact(l simd.Level, tokens int) Case {
	stride := layout.Panels(w.rows) * layout.PanelRows
	x, packed, y := normal(tokens*Cols), make([]float32, tokens*Cols), make([]float32, tokens*stride)
	tiles := layout.NewTiling(tokens, layout.TileTokens(l))
	return w.product(l, "gemm", tokens, MultiplyAdd, y, func() {
		in := x
		if tokens > 1 {
			in = packed
			for i := range tiles.Tiles {
				t, n := tiles.At(i)
				gemm.PackTile(l, packed[t*Cols:], x[t*Cols:], Cols, n, Cols)
			}
		}
		w.multiply(l, tiles, func(p int, part []byte, from, columns, first, end int) {
			for i, fetch := first, ahead; i < end; i, fetch = i+1, 0 {
				t, n := tiles.At(i)
				gemm.Multiply(l, w.form, part, columns, in[t*Cols+from*n:], n, y[t*stride+p*layout.PanelRows:], stride, from > 0, fetch)
			}
		})
	})
}

// multiply goes through the next matrix as the device does: blocks of tiles,
// panels, and of a panel columns that stay in the first cache for all tiles of
// a block.
func (w *weights) multiply(l simd.Level, tiles layout.Tiling, each func(panel int, part []byte, from, columns, first, end int)) {
	panels, size := w.matrix(), w.form.PanelBytes(Cols)
	run := max(1, blockTokens/layout.TileTokens(l))
	for first := 0; first < tiles.Tiles; first += run {
		end, most := min(first+run, tiles.Tiles), Cols
		if end-first > 1 {
			unit := max(layout.GroupCols, w.form.Unit())
			most = blockBytes / w.form.PanelBytes(unit) * unit
		}
		for p := range layout.Panels(w.rows) {
			for from := 0; from < Cols; from += most {
				each(p, panels[p*size+w.form.PanelBytes(from):(p+1)*size], from, min(most, Cols-from), first, end)
			}
		}
	}
}

// rounded is a product with activations rounded to int8, rounding included.
func (w *weights) rounded(l simd.Level, tokens int) Case {
	const groups = Cols / layout.GroupCols
	stride := layout.Panels(w.rows) * layout.PanelRows
	x, y, in := normal(tokens*Cols), make([]float32, tokens*stride), make([]byte, intgemm.TileBytes(groups, tokens))
	tiles := layout.NewTiling(tokens, layout.TileTokens(l))
	limit := IntegerDot
	if l == simd.Portable {
		limit = NoLimit // compilers decide what plain Go could do at most
	}
	return w.product(l, "integer gemm", tokens, limit, y, func() {
		for i := range tiles.Tiles {
			t, n := tiles.At(i)
			for j := range n {
				intgemm.QuantizeRow(l, intgemm.Quads, x[(t+j)*Cols:][:Cols], in[intgemm.TileBytes(groups, t):], j, n)
			}
		}
		w.multiply(l, tiles, func(p int, part []byte, from, columns, first, end int) {
			for i := first; i < end; i++ {
				t, n := tiles.At(i)
				at := intgemm.TileBytes(groups, t) + intgemm.TileBytes(from/layout.GroupCols, n)
				intgemm.Multiply(l, w.form, part, columns/layout.GroupCols, in[at:], n, y[t*stride+p*layout.PanelRows:], stride, from > 0,
					w.fetch(columns, i-first, end-first))
			}
		})
	})
}

// fetchers is how many tiles share the fetching of what comes next, at most.
const fetchers = 4

// fetch is what tile i prefetches while it computes some columns.
func (w *weights) fetch(columns, i, tiles int) intgemm.Fetch {
	share := min(tiles, fetchers)
	switch {
	case share == 1:
		return intgemm.Fetch{Ahead: ahead, Every: 1}
	case i < share:
		bytes := w.form.PanelBytes(columns)
		return intgemm.Fetch{Ahead: bytes + bytes*i/share, Every: share}
	}
	return intgemm.Fetch{}
}

// product is the case of a function that multiplies the next matrix into y.
func (w *weights) product(l simd.Level, name string, tokens int, limit Limit, y []float32, do func()) Case {
	return Case{
		Level: l, Kernel: name, Form: w.form.String(), Tokens: tokens, Shape: fmt.Sprintf("[%d, %d]", w.rows, Cols),
		Bytes: float64(len(w.memory) / w.matrices), Operations: 2 * float64(tokens) * float64(w.rows) * Cols,
		Cold: true, Limit: limit, Do: do, y: y,
	}
}
