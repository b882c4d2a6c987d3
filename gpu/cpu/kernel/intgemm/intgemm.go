// Package intgemm multiplies panels of quantised weights by activations quantised
// to int8. There is one scale per 32 columns, as in llama.cpp.
//
// The sum of 32 products is exact in int32. It is then scaled and added with one
// rounding, group after group. On prompts this is several times faster than package gemm.
package intgemm

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Fetch says what to prefetch for a later call while this one computes.
type Fetch struct {
	// Ahead is the distance in bytes from the panel, perhaps past the end of the weights.
	Ahead int
	// Every is n: every n-th group prefetches the lines of one group, so n calls
	// share the work. Zero: nothing is prefetched.
	Every int
}

// Multiply multiplies one panel of integers by a tile of quantised activations
// (QuantizeRow) over groups of 32 columns, whole units of f:
//
//	y[t*ldy+r] = (y[t*ldy+r] with add, 0 without) + sum over columns of panel[r, column] * x[t, column]
//
// for 32 rows r; tokens is 1 to layout.TileTokens(l). Groups are added in order,
// so a product that is split into calls with add has the same bits. The integers
// of a group are summed exactly. Q8 and Q4 then have
//
//	sum = fma(float32(integers), weight scale * activation scale, sum)
//
// Q6K has the same with d for the weight scale; its integers are the sums of columns 0 to
// 15 and of 16 to 31, each times its s: 25 bits with the sign, exact. Q41 and Q4K have
//
//	product = fma(float32(integers), scale, float32(activations) * offset)
//	sum = fma(product, activation scale, sum)
//
// where activations is the sum of their integers, and scale and offset are d and m, or
// d*s and -m*t, which are exact. In plain Go every product is rounded before it is added.
func Multiply(l simd.Level, f layout.Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool, fetch Fetch) {
	if !f.Integer() || groups < 0 || tokens < 1 || tokens > layout.TileTokens(l) || len(panel) < f.PanelBytes(groups*layout.GroupCols) ||
		len(x) < TileBytes(groups, tokens) || tokens > 1 && ldy < layout.PanelRows || len(y) < (tokens-1)*ldy+layout.PanelRows {
		panic(fmt.Sprintf("intgemm: %d groups of %s in %d bytes by %d tokens in %d bytes into %d floats, %d apart",
			groups, f, len(panel), tokens, len(x), len(y), ldy))
	}
	adds, ahead, every := simd.Flag(add), fetch.Ahead, fetch.Every
	switch {
	case l == simd.Portable || groups == 0:
		multiplyPortable(f, panel, groups, x, tokens, y, ldy, add)
	case f == layout.Q6K:
		intSixBitsAVX(l, 0, &panel[0], &x[0], &y[0], groups, tokens, ldy, adds, ahead, every)
	default:
		intNibblesAVX(l, int(f-layout.Q8), &panel[0], &x[0], &y[0], groups, tokens, ldy, adds, ahead, every)
	}
}

func clearRows(y []float32, tokens, ldy int) {
	for t := range tokens {
		clear(y[t*ldy : t*ldy+layout.PanelRows])
	}
}
