// Package scan computes from rows of logits what sampling needs: the maximum, the
// candidates above a bound, the softmax denominator.
package scan

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// scanRun is the least number of elements that the assembly takes.
const scanRun = 32

// Max is the largest element of x, which is not empty. nan reports that an element
// is NaN; the maximum then has no meaning.
func Max(l simd.Level, x []float32) (peak float32, nan bool) {
	if l != simd.Portable && len(x) >= scanRun {
		peak, flag := maxAVX(l, &x[0], len(x))
		return peak, flag != 0
	}
	peak = x[0]
	for _, v := range x {
		if v > peak {
			peak = v
		}
		nan = nan || v != v
	}
	return peak, nan
}

// Index is the index of the first element equal to v, or len(x).
func Index(l simd.Level, x []float32, v float32) int {
	at := 0
	if n := len(x) &^ (scanRun - 1); n > 0 && l != simd.Portable {
		if at = indexAVX(l, &x[0], n, v); at < n {
			return at
		}
	}
	for at < len(x) && x[at] != v {
		at++
	}
	return at
}

// AtLeast writes the indexes of the elements that are at least bound to ids, in
// ascending order, and returns their number. ids is at least as long as x.
func AtLeast(l simd.Level, x []float32, bound float32, ids []int32) int {
	ids = ids[:len(x)]
	n, at := 0, 0
	if runs := len(x) &^ (scanRun - 1); runs > 0 && l != simd.Portable {
		n, at = atLeastAVX(l, &x[0], runs, bound, &ids[0]), runs
	}
	for i, v := range x[at:] {
		if v >= bound {
			ids[n] = int32(at + i)
			n++
		}
	}
	return n
}

// SumExp is the sum of e^((x - highest) * inverse) in float64, with a relative error
// of at most 1e-11; levels add in different orders. highest is finite, no element is
// above it, inverse is positive. Elements of -Inf add nothing.
func SumExp(l simd.Level, x []float32, highest, inverse float64) float64 {
	var sum float64
	if n := len(x) &^ (scanRun - 1); n > 0 && l != simd.Portable {
		sum = sumExpAVX(l, &x[0], n, highest, inverse*math.Log2E)
		x = x[n:]
	}
	for _, v := range x {
		sum += math.Exp((float64(v) - highest) * inverse)
	}
	return sum
}
