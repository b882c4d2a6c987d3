// Package scan looks through rows of logits: what sampling needs to know of all
// tokens of the vocabulary.
package scan

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// scanRun is what the assembly looks at in one go, at least.
const scanRun = 32

// Max is the largest element of x, which is not empty; nan tells whether one
// of them is NaN, in which case there is no largest.
func Max(l simd.Level, x []float32) (peak float32, nan bool) {
	if l != simd.Portable && len(x) >= scanRun {
		var flag int32
		if l >= simd.AVX512 {
			peak, flag = maxAVX512(&x[0], len(x))
		} else {
			peak, flag = maxAVX2(&x[0], len(x))
		}
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

// Index is the index of the first element that equals v, len(x) if none does.
func Index(l simd.Level, x []float32, v float32) int {
	at := 0
	if n := len(x) &^ (scanRun - 1); n > 0 && l != simd.Portable {
		if l >= simd.AVX512 {
			at = indexAVX512(&x[0], n, v)
		} else {
			at = indexAVX2(&x[0], n, v)
		}
		if at < n {
			return at
		}
	}
	for at < len(x) && x[at] != v {
		at++
	}
	return at
}

// AtLeast lists the indexes of the elements that are at least bound, in
// ascending order, in ids, which is as long as x at least. It returns how many.
func AtLeast(l simd.Level, x []float32, bound float32, ids []int32) int {
	ids = ids[:len(x)]
	n, at := 0, 0
	if at = len(x) &^ (scanRun - 1); at > 0 && l != simd.Portable {
		if l >= simd.AVX512 {
			n = atLeastAVX512(&x[0], at, bound, 0, &ids[0])
		} else {
			n = atLeastAVX2(&x[0], at, bound, 0, &ids[0])
		}
	} else {
		at = 0
	}
	for i, v := range x[at:] {
		if v >= bound {
			ids[n] = int32(at + i)
			n++
		}
	}
	return n
}

// SumExp is the sum of e^((x - highest) inverse) in float64, a relative 1e-11
// off at most: its order is its own. highest is finite, no element is above it,
// inverse is positive. Elements of -Inf count nothing.
func SumExp(l simd.Level, x []float32, highest, inverse float64) float64 {
	var sum float64
	if n := len(x) &^ (scanRun - 1); n > 0 && l != simd.Portable {
		if l >= simd.AVX512 {
			sum = sumExpAVX512(&x[0], n, highest, inverse*math.Log2E)
		} else {
			sum = sumExpAVX2(&x[0], n, highest, inverse*math.Log2E)
		}
		x = x[n:]
	}
	for _, v := range x {
		sum += math.Exp((float64(v) - highest) * inverse)
	}
	return sum
}
