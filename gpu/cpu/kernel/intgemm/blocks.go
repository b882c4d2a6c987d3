package intgemm

import (
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// intBlocks is Multiply of Q41, Q4K and Q6K; groups is positive. For each group,
// in order, Q6K has
//
//	sum = fma(float32(integers), d * activation scale, sum)
//
// where integers are the sums of columns 0 to 15 and of 16 to 31, each times its
// s: 25 bits with the sign, exact. Q41 and Q4K have
//
//	product = fma(float32(integers), scale, float32(activations) * offset)
//	sum = fma(product, activation scale, sum)
//
// where activations are the sum of their integers, and scale and offset are d
// and m, or d*s and -m*t, which are exact. In plain Go every product is rounded
// before it is added.
func intBlocks(l simd.Level, f layout.Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy, add int, fetch Fetch) {
	if l == simd.Portable {
		intBlocksPortable(f, panel, groups, x, tokens, y, ldy, add != 0)
		return
	}
	w, in, out := &panel[0], &x[0], &y[0]
	// A switch, because pointers passed through a func value escape.
	switch {
	case f == layout.Q41 && l == simd.AVX2:
		intQ41AVX2(w, in, out, groups, tokens, ldy, add, fetch)
	case f == layout.Q41:
		intQ41AVX512(w, in, out, groups, tokens, ldy, add, fetch)
	case f == layout.Q4K && l == simd.AVX2:
		intQ4KAVX2(w, in, out, groups, tokens, ldy, add, fetch)
	case f == layout.Q4K:
		intQ4KAVX512(w, in, out, groups, tokens, ldy, add, fetch)
	case l == simd.AVX2:
		intQ6KAVX2(w, in, out, groups, tokens, ldy, add, fetch)
	default:
		intQ6KAVX512(w, in, out, groups, tokens, ldy, add, fetch)
	}
}
