// Package intgemm multiplies panels of quantised weights by activations quantised
// to int8, with one scale per 32 columns, as llama.cpp does.
//
// The sum of 32 products is exact in int32. It is then scaled and added with one
// rounding, group after group. This is several times faster than package gemm.
package intgemm

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Fetch asks for memory that a later call reads, while this one computes.
type Fetch struct {
	// Ahead is how many bytes behind the panel to start. Reading past the end of
	// the weights does no harm.
	Ahead int
	// Every is n: the lines of one group are asked for in every n-th group, so
	// that n calls share the work. Zero: nothing is fetched.
	Every int
}

// Multiply multiplies one panel of integers with a tile of quantised activations
// (QuantizeRow), over so many groups of 32 columns, whole units of f:
//
//	y[t*ldy+r] = sum over columns of panel[r, column] * x[t, column]
//
// for 32 rows r, added to y or written over it; tokens is 1 to l.TileTokens(). For each group the integers are
// summed exactly; then sum = fma(float32(integers), weight scale * activation
// scale, sum), groups in order (in plain Go the last product is rounded first). So a
// product split into calls that add is the same to the bit.
func Multiply(l simd.Level, f layout.Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool, fetch Fetch) {
	if !f.Integer() || groups < 0 || tokens < 1 || tokens > layout.TileTokens(l) || len(panel) < f.PanelBytes(groups*layout.GroupCols) ||
		len(x) < TileBytes(groups, tokens) || tokens > 1 && ldy < layout.PanelRows || len(y) < (tokens-1)*ldy+layout.PanelRows {
		panic(fmt.Sprintf("intgemm: %d groups of %s in %d bytes by %d tokens in %d bytes into %d floats, %d apart",
			groups, f, len(panel), tokens, len(x), len(y), ldy))
	}
	adds := 0
	if add {
		adds = 1
	}
	switch {
	case groups == 0:
		for t := range tokens {
			if !add {
				clear(y[t*ldy : t*ldy+layout.PanelRows])
			}
		}
	case f >= layout.Q41:
		intBlocks(l, f, panel, groups, x, tokens, y, ldy, adds, fetch)
	case l >= simd.AVX512 && f == layout.Q8:
		intQ8AVX512(&panel[0], &x[0], &y[0], groups, tokens, ldy, adds, fetch)
	case l >= simd.AVX512:
		intQ4AVX512(&panel[0], &x[0], &y[0], groups, tokens, ldy, adds, fetch)
	case l == simd.AVX2 && f == layout.Q8:
		intQ8AVX2(&panel[0], &x[0], &y[0], groups, tokens, ldy, adds, fetch)
	case l == simd.AVX2:
		intQ4AVX2(&panel[0], &x[0], &y[0], groups, tokens, ldy, adds, fetch)
	default:
		intGemmPortable(f, panel, groups, x, tokens, y, ldy, add)
	}
}
