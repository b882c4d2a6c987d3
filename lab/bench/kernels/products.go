package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
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
		return nil, fmt.Errorf("%d bytes hold no matrix [%d, %d] of %s, which takes %d; give more memory", len(memory), rows, Cols, f, layout.Panels(rows)*size)
	}
	r := rand.New(rand.NewPCG(1, uint64(f)))
	encoded := make([][]byte, layout.PanelRows)
	for i := range encoded {
		encoded[i] = randomRow(r, f)
	}
	panels := memory[:n*layout.Panels(rows)*size]
	layout.Pack(f, panels[:size], Cols, encoded)
	for done := size; done < len(panels); done *= 2 {
		copy(panels[done:], panels[:done])
	}
	return &weights{form: f, memory: panels, rows: rows, matrices: n}, nil
}

// randomRow is a row as layout.Pack takes it: elements of about a thirtieth, so
// that products stay small.
func randomRow(r *rand.Rand, f layout.Form) []byte {
	const scale = 0x1400 // 2^-10 as float16
	b := make([]byte, 0, f.RowBytes(Cols))
	for c := 0; c < Cols; c++ {
		x := float32(r.NormFloat64() / 32)
		switch f {
		case layout.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		case layout.BF16, layout.F16:
			var h [1]uint16
			convert.Narrow(simd.Portable, f, h[:], []float32{x})
			b = binary.LittleEndian.AppendUint16(b, h[0])
		case layout.Q8, layout.Q4:
			if c%layout.GroupCols == 0 {
				b = binary.LittleEndian.AppendUint16(b, scale)
			}
			if f == layout.Q8 || c%2 == 0 {
				b = append(b, byte(r.Uint32()))
			}
		case layout.Q41, layout.Q4K, layout.Q6K:
			if c%f.Unit() == 0 {
				b = append(b, randomBlock(r, f)...)
			}
		}
	}
	return b
}

// randomBlock has random codes and scales, and the float16 that bring elements
// to about a thirtieth.
func randomBlock(r *rand.Rand, f layout.Form) []byte {
	b := make([]byte, f.RowBytes(f.Unit()))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	put := binary.LittleEndian.PutUint16
	switch f {
	case layout.Q41: // 2^-7, and 7.5 of it taken off
		put(b, 0x2000)
		put(b[2:], 0xab80)
	case layout.Q4K: // 2^-12, and as much of minimums
		put(b, 0x0c00)
		put(b[2:], 0x1780)
	default: // 2^-15
		put(b[208:], 0x0200)
	}
	return b
}

// matrix is the next one.
func (w *weights) matrix() []byte {
	size := len(w.memory) / w.matrices
	at := w.next * size
	w.next = (w.next + 1) % w.matrices
	return w.memory[at : at+size]
}

// activations are random rows.
func activations(tokens int) []float32 {
	r := rand.New(rand.NewPCG(2, uint64(tokens)))
	x := make([]float32, tokens*Cols)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// product is one that can be repeated; run multiplies the next matrix.
type product struct {
	y   []float32
	run func()
}

// exact is a product with activations in float32, laying them out included.
func (w *weights) exact(l simd.Level, tokens int) Case {
	return w.toCase(l, "gemm", tokens, MultiplyAdd, w.exactProduct(l, tokens))
}

func (w *weights) exactProduct(l simd.Level, tokens int) product {
	stride := layout.Panels(w.rows) * layout.PanelRows
	x, packed, y := activations(tokens), make([]float32, tokens*Cols), make([]float32, tokens*stride)
	tiles := layout.NewTiling(tokens, layout.TileTokens(l))
	return product{y, func() {
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
	}}
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
	return w.toCase(l, "integer gemm", tokens, IntegerDot, w.roundedProduct(l, tokens))
}

func (w *weights) roundedProduct(l simd.Level, tokens int) product {
	const groups = Cols / layout.GroupCols
	stride := layout.Panels(w.rows) * layout.PanelRows
	x, y, in := activations(tokens), make([]float32, tokens*stride), make([]byte, intgemm.TileBytes(groups, tokens))
	tiles := layout.NewTiling(tokens, layout.TileTokens(l))
	return product{y, func() {
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
	}}
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

func (w *weights) toCase(l simd.Level, name string, tokens int, limit Limit, p product) Case {
	if l == simd.Portable && limit == IntegerDot {
		limit = NoLimit // compilers decide what plain Go could do at most
	}
	return Case{
		Level: l, Kernel: name, Form: w.form.String(), Tokens: tokens, Shape: fmt.Sprintf("[%d, %d]", w.rows, Cols),
		Bytes: float64(len(w.memory) / w.matrices), Operations: 2 * float64(tokens) * float64(w.rows) * Cols,
		Cold: true, Limit: limit, Do: p.run,
	}
}
