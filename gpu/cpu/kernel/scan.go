package kernel

import "math"

// scanRun is what the assembly looks at in one go, at least.
const scanRun = 32

// Peak is the largest element of x, which is not empty; nan tells whether one
// of them is NaN, in which case there is no largest.
func Peak(l Level, x []float32) (peak float32, nan bool) {
	if l != Portable && len(x) >= scanRun {
		var flag int32
		if l >= AVX512 {
			peak, flag = peakAVX512(&x[0], len(x))
		} else {
			peak, flag = peakAVX2(&x[0], len(x))
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

// Find is the index of the first element that equals v, len(x) if none does.
func Find(l Level, x []float32, v float32) int {
	at := 0
	if n := len(x) &^ (scanRun - 1); n > 0 && l != Portable {
		if l >= AVX512 {
			at = findAVX512(&x[0], n, v)
		} else {
			at = findAVX2(&x[0], n, v)
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

// Collect lists the indexes of the elements that are at least bound, in
// ascending order, in ids, which is as long as x at least. It returns how many.
func Collect(l Level, x []float32, bound float32, ids []int32) int {
	ids = ids[:len(x)]
	n, at := 0, 0
	if at = len(x) &^ (scanRun - 1); at > 0 && l != Portable {
		if l >= AVX512 {
			n = collectAVX512(&x[0], at, bound, 0, &ids[0])
		} else {
			n = collectAVX2(&x[0], at, bound, 0, &ids[0])
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

// ExpSum is the sum of e^((x - highest) inverse) in float64, a relative 1e-11
// off at most: its order is its own. highest is finite, no element is above it,
// inverse is positive. Elements of -Inf count nothing.
func ExpSum(l Level, x []float32, highest, inverse float64) float64 {
	var sum float64
	if n := len(x) &^ (scanRun - 1); n > 0 && l != Portable {
		if l >= AVX512 {
			sum = expSumAVX512(&x[0], n, highest, inverse*math.Log2E)
		} else {
			sum = expSumAVX2(&x[0], n, highest, inverse*math.Log2E)
		}
		x = x[n:]
	}
	for _, v := range x {
		sum += math.Exp((float64(v) - highest) * inverse)
	}
	return sum
}
