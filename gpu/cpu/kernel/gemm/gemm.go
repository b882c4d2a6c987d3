// Package gemm multiplies panels of weights by float32 activations.
//
// The sum of an element runs along the columns in order, with one rounding per product (a
// fused multiply-add; in plain Go two), for one token as for 512. The values of weights
// are exact: only what a panel of float32 would round is rounded.
package gemm

import (
	"fmt"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Multiply multiplies a panel by a tile of tokens:
//
//	y[t*ldy+r] = (y[t*ldy+r] with add, 0 without) + sum over c of W[r,c] x[c*tokens+t]
//
// for the 32 rows of the panel. The sum of an element runs along the columns with
// one rounding each (two at level portable), so the bits do not depend on tiles,
// nor on calls for consecutive ranges of columns with add. A range starts at a
// multiple of f.Unit(), at f.PanelBytes(first column) of the panel.
//
// Activations stay float32. A quantised weight is value*scale, plus a minimum if any,
// rounded to float32 at most once, so the result is that of the same matrix as F32.
//
// tokens is 1 to layout.TileTokens(l); ldy is at least 32 unless there is one
// token. ahead is the prefetch distance in bytes; it may reach past the panel.
func Multiply(l simd.Level, f layout.Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool, ahead int) {
	if tokens < 1 || tokens > layout.TileTokens(l) {
		panic(fmt.Sprintf("gemm: a tile of %d tokens; at level %s it has 1 to %d", tokens, l, layout.TileTokens(l)))
	}
	if tokens == 1 {
		ldy = layout.PanelRows
	}
	if ldy < layout.PanelRows || len(panel) < f.PanelBytes(cols) || len(x) < cols*tokens || len(y) < (tokens-1)*ldy+layout.PanelRows {
		panic(fmt.Sprintf("gemm: %d bytes of %s, %d activations and %d results, %d apart, are not what %d columns of %d tokens need",
			len(panel), f, len(x), len(y), ldy, cols, tokens))
	}
	if l == simd.Portable || cols == 0 {
		multiplyPortable(f, panel, cols, x, tokens, y, ldy, add)
		return
	}
	sum := simd.Flag(add)
	if !f.Integer() {
		gemmFloatsAVX(l, int(f), &panel[0], cols, &x[0], tokens, &y[0], ldy, sum, ahead)
		return
	}
	multiplyUnpacked(l, f, panel, cols, x, tokens, &y[0], ldy, sum, ahead)
}

// multiplyUnpacked converts a few columns at a time to float32 and multiplies them.
func multiplyUnpacked(l simd.Level, f layout.Form, panel []byte, cols int, x []float32, tokens int, y *float32, ldy, sum, ahead int) {
	// The stack is not aligned; vectors that cross cache lines would cost 10 to 40 %.
	const line = 64
	var memory [layout.UnpackCols*layout.PanelRows + line/4]float32
	columns := memory[-uintptr(unsafe.Pointer(&memory[0]))%line/4:]
	for from := 0; from < cols; from += layout.UnpackCols {
		n := min(layout.UnpackCols, cols-from)
		unpack(l, f, panel, from/layout.GroupCols, n/layout.GroupCols, &columns[0], ahead)
		gemmFloatsAVX(l, int(layout.F32), (*byte)(unsafe.Pointer(&columns[0])), n, &x[from*tokens], tokens, y, ldy, sum, 0)
		sum = 1
	}
}

// unpack converts groups of columns from group g on, which are of one block.
func unpack(l simd.Level, f layout.Form, panel []byte, g, groups int, out *float32, ahead int) {
	head, group := layout.Group(f, panel, g)
	w, h := &group[0], unsafe.SliceData(head)
	switch f {
	case layout.Q8:
		unpackQ8AVX(l, w, h, groups, out, ahead)
	case layout.Q4:
		unpackQ4AVX(l, w, h, groups, out, ahead)
	case layout.Q41:
		unpackQ41AVX(l, w, h, groups, out, ahead)
	case layout.Q4K:
		unpackQ4KAVX(l, w, h, groups, out, ahead)
	default:
		unpackQ6KAVX(l, w, h, groups, out, ahead)
	}
}
