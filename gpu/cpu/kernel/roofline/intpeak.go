package roofline

import (
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// IntMultiplyAdds does n rounds of integer multiply-adds and returns the number of
// operations, two each: the limit that package intgemm is measured against.
func IntMultiplyAdds(l simd.Level, n int) (ops int) {
	if n < 1 {
		return 0
	}
	switch l {
	case simd.AVX512, simd.AMX:
		intPeakAVX512(n)
		return n * 20 * 64 * 2
	case simd.AVX2:
		intPeakAVX2(n)
		return n * 20 * 32 * 2
	}
	intPeakPortable(n)
	return n * 4 * 2
}

//go:noinline
func intPeakPortable(n int) int32 {
	sums := [4]int32{1, 2, 3, 4}
	for range n {
		for i := range sums {
			sums[i] += sums[i] * int32(i)
		}
	}
	return sums[0] + sums[1] + sums[2] + sums[3]
}
