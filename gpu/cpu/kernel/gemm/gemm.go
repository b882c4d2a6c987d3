// Package gemm multiplies panels of weights by float32 activations.
//
// The sum of an element runs along the columns in order, with one rounding per
// product (a fused multiply-add; in plain Go two), for one token as for 512.
// Weights keep their value: nothing is rounded that a panel of float32 would not
// round.
package gemm

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Multiply multiplies a panel with a tile of tokens:
//
//	y[t*ldy+r] = (y[t*ldy+r] with add, 0 without) + sum over c of W[r,c] x[c*tokens+t]
//
// for the 32 rows of the panel. The sum of an element runs along the columns
// with one rounding each (two at level portable), so that neither tiles nor
// calls for ranges of columns one after the other, with add, change a bit. A
// range begins at f.PanelBytes(first column) of the panel, so that it must be
// multiple of f.Unit().
//
// Activations stay float32. A weight of the forms of integers is value x scale,
// plus a minimum where there is one, rounded to float32 once if at all, so that
// the results are those of the same matrix as F32.
//
// tokens is 1 to l.TileTokens(); ldy at least 32 unless there is one token. So
// many bytes ahead of the weights in use the cache is asked for those to come;
// 0: nothing is asked. It may reach beyond the panel.
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
	w, in, out, sum := &panel[0], &x[0], &y[0], 0
	if add {
		sum = 1
	}
	// A switch, because pointers passed through a func value escape.
	switch f {
	case layout.F32:
		if l >= simd.AVX512 {
			gemmF32AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmF32AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.BF16:
		if l >= simd.AVX512 {
			gemmBF16AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmBF16AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.F16:
		if l >= simd.AVX512 {
			gemmF16AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmF16AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.Q8:
		if l >= simd.AVX512 {
			gemmQ8AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ8AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.Q4:
		if l >= simd.AVX512 {
			gemmQ4AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ4AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.Q41:
		if l >= simd.AVX512 {
			gemmQ41AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ41AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.Q4K:
		if l >= simd.AVX512 {
			gemmQ4KAVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ4KAVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case layout.Q6K:
		if l >= simd.AVX512 {
			gemmQ6KAVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ6KAVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	}
}
