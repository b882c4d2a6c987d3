package kerneltest_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// The kernels of AVX-512 run in the interpreter and must have the same bits as those of
// AVX2, one token or row at a time, which the tests of their packages check. Sums
// are in the same order at both levels.

const tokensAVX512 = 12

func open(t *testing.T, pkg string) *listing {
	if !simd.AVX2.Supported() {
		t.Skip("this processor has no AVX2 to compare with")
	}
	a, err := readListing(filepath.Join("../../gpu/cpu/kernel", pkg, pkg+"_amd64.s"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func flag64(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

func wantSame(t *testing.T, got, want []float32, what ...any) {
	t.Helper()
	if !slices.EqualFunc(got, want, kerneltest.Same) {
		t.Fatalf("%s: %v, want %v", fmt.Sprint(what...), got, want)
	}
}

// randomPanel is a panel of n times the smallest number of columns of the form.
func randomPanel(r *rand.Rand, f layout.Form, n int) (panel []byte, cols int) {
	cols = n
	if f.Integer() {
		cols *= f.Unit()
	}
	encoded, _ := kerneltest.NativeRows(r, f, layout.PanelRows, cols)
	panel = make([]byte, f.PanelBytes(cols))
	layout.Pack(f, panel, cols, encoded)
	return panel, cols
}

func TestGemmAVX512(t *testing.T) {
	a := open(t, "gemm")
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range layout.Forms {
		for _, n := range []int{1, 2, 3} {
			panel, cols := randomPanel(r, f, n)
			for tokens := 1; tokens <= tokensAVX512; tokens++ {
				add, ldy := tokens%2 == 0, layout.PanelRows+tokens%3
				x, y := kerneltest.Normal(r, cols*tokens), kerneltest.Normal(r, ldy*tokens)
				want := slices.Clone(y)
				for token := range tokens {
					row := make([]float32, cols)
					for c := range row {
						row[c] = x[c*tokens+token]
					}
					gemm.Multiply(simd.AVX2, f, panel, cols, row, 1, want[token*ldy:], 0, add, 0)
				}
				multiplyAVX512(a, f, panel, cols, x, tokens, y, ldy, add)
				wantSame(t, y, want, f, " ", cols, " columns, ", tokens, " tokens")
			}
		}
	}
}

// multiplyAVX512 is gemm.Multiply.
func multiplyAVX512(a *listing, f layout.Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool) {
	m := &machine{listing: a}
	out := m.operand(floatBytes(y))
	floats := func(f layout.Form, panel []byte, cols int, x []float32, add bool) {
		m.call("gemmFloatsAVX512", uint64(f), m.operand(panel), uint64(cols), m.operand(floatBytes(x)), uint64(tokens), out, uint64(ldy), flag64(add), 64)
	}
	if !f.Integer() {
		floats(f, panel, cols, x, add)
		return
	}
	name := map[layout.Form]string{layout.Q8: "Q8", layout.Q4: "Q4", layout.Q41: "Q41", layout.Q4K: "Q4K", layout.Q6K: "Q6K"}[f]
	for from := 0; from < cols; from += layout.UnpackCols {
		n := min(layout.UnpackCols, cols-from)
		var columns layout.Columns
		head, group := layout.Group(f, panel, from/layout.GroupCols)
		// The two groups of the call are adjacent.
		at := len(panel) - cap(group)
		m.call("unpack"+name+"AVX512", m.operand(panel[at:]), m.operand(head), uint64(n/layout.GroupCols), m.operand(floatBytes(columns[:])), 64)
		floats(layout.F32, floatBytes(columns[:]), n, x[from*tokens:], add || from > 0)
	}
}

func TestIntGemmAVX512(t *testing.T) {
	a := open(t, "intgemm")
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range layout.Forms[layout.Q8:] {
		for _, n := range []int{1, 2, 3} {
			panel, cols := randomPanel(r, f, n)
			groups := cols / layout.GroupCols
			for tokens := 1; tokens <= tokensAVX512; tokens++ {
				add, ldy := tokens%2 == 0, layout.PanelRows+tokens%3
				x, y := kerneltest.Normal(r, cols*tokens), kerneltest.Normal(r, ldy*tokens)
				tile, alone, want := make([]byte, intgemm.TileBytes(groups, tokens)), make([]byte, intgemm.TileBytes(groups, 1)), slices.Clone(y)
				for token := range tokens {
					row := x[token*cols:][:cols]
					intgemm.QuantizeRow(simd.AVX2, intgemm.Quads, row, tile, token, tokens)
					intgemm.QuantizeRow(simd.AVX2, intgemm.Quads, row, alone, 0, 1)
					intgemm.Multiply(simd.AVX2, f, panel, groups, alone, 1, want[token*ldy:], 0, add, intgemm.Fetch{})
				}
				name := "intNibblesAVX512"
				if f == layout.Q6K {
					name = "intSixBitsAVX512"
				}
				m := &machine{listing: a}
				m.call(name, uint64(f-layout.Q8), m.operand(panel), m.operand(tile), m.operand(floatBytes(y)), uint64(groups), uint64(tokens), uint64(ldy), flag64(add), 4096, uint64(tokens%3))
				wantSame(t, y, want, f, " ", groups, " groups, ", tokens, " tokens")
			}
		}
	}
}

func TestAttentionAVX512(t *testing.T) {
	a := open(t, "attn")
	r := rand.New(rand.NewPCG(5, 6))
	for kv, size := range []int{4, 2, 2, 1} {
		for _, dim := range []int{1, 7, 33, 40} {
			run := attn.RunSlots * dim * size
			pool := make([]byte, 8*run+64*size) // values may be read up to AccWidth
			for i := range pool {
				pool[i] = byte(r.Uint32()) & 0x3f // no infinity and no NaN
			}
			var runs attn.Runs
			for i, at := range r.Perm(8)[:len(runs)] {
				runs[i] = attn.Run{At: at * run}
			}
			table := unsafe.Slice((*byte)(unsafe.Pointer(&runs)), unsafe.Sizeof(runs))
			for rows := 1; rows <= 12; rows++ {
				ldq := dim + rows%2
				q, got, want := kerneltest.Normal(r, rows*ldq), make([]float32, rows*attn.BlockSlots), make([]float32, rows*attn.BlockSlots)
				for i := range rows {
					attn.Scores(simd.AVX2, attn.KV(kv), q[i*ldq:], ldq, 1, &pool[0], &runs, len(runs), dim, want[i*attn.BlockSlots:])
				}
				m := &machine{listing: a}
				m.call("scoresAVX512", uint64(kv), m.operand(floatBytes(q)), uint64(4*ldq), uint64(rows), m.operand(pool), m.operand(table), uint64(len(runs)), uint64(dim), m.operand(floatBytes(got)))
				wantSame(t, got, want, "scores of type ", kv, ", ", dim, " dimensions, ", rows, " rows")

				from := r.IntN(20)
				n, width := 1+r.IntN(attn.BlockSlots-from), attn.AccWidth(dim)
				p, acc := kerneltest.Normal(r, rows*attn.BlockSlots), kerneltest.Normal(r, rows*width)
				sums := slices.Clone(acc)
				for i := range rows {
					attn.Values(simd.AVX2, attn.KV(kv), p[i*attn.BlockSlots:][:attn.BlockSlots], 1, &pool[0], &runs, from, n, dim, sums[i*width:])
				}
				m = &machine{listing: a}
				m.call("valuesAVX512", uint64(kv), m.operand(floatBytes(p[from:])), uint64(rows), m.operand(pool), m.operand(table[from/attn.RunSlots*int(unsafe.Sizeof(attn.Run{})):]), uint64(from%attn.RunSlots), uint64(n),
					uint64(width/32), uint64(32*size), uint64(dim*size), m.operand(floatBytes(acc)), uint64(4*width))
				for i := range rows {
					wantSame(t, acc[i*width:][:dim], sums[i*width:][:dim], "values of type ", kv, ", ", dim, " dimensions, ", rows, " rows")
				}
			}
		}
	}
}
