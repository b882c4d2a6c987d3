// Package roofline measures the limits of the processor: bytes read per second and
// multiplications per second. Benchmarks report kernels as a share of them.
package roofline

import (
	"encoding/binary"
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// ReadSum reads memory as fast as the level can: the limit of kernels that stream
// weights. The result depends on all bytes, without meaning. len(b) is a multiple of 512.
func ReadSum(l simd.Level, b []byte) float32 {
	if len(b)%512 != 0 {
		panic("roofline: ReadSum takes multiples of 512 bytes")
	}
	if len(b) == 0 {
		return 0
	}
	if l != simd.Portable {
		return readSumAVX(l, &b[0], len(b))
	}
	var sums [4]uint32
	for ; len(b) > 0; b = b[16:] {
		for i := range sums {
			sums[i] += binary.LittleEndian.Uint32(b[4*i:])
		}
	}
	return math.Float32frombits(sums[0] ^ sums[1] ^ sums[2] ^ sums[3])
}

// Operations of a round of multiply-adds, two each: of float32 and of integers.
var (
	floatOps = [...]int{simd.Portable: 8 * 2, simd.AVX2: 12 * 8 * 2, simd.AVX512: 24 * 16 * 2, simd.AMX: 24 * 16 * 2}
	intOps   = [...]int{simd.Portable: 4 * 2, simd.AVX2: 20 * 32 * 2, simd.AVX512: 20 * 64 * 2, simd.AMX: 20 * 64 * 2}
)

// MultiplyAdds does n rounds of float32 multiply-adds in registers and returns the
// number of operations: the peak of package gemm.
func MultiplyAdds(l simd.Level, n int) (operations int) {
	switch {
	case n < 1:
		return 0
	case l == simd.Portable:
		multiplyAddsPortable(n)
	default:
		multiplyAddsAVX(l, n)
	}
	return n * floatOps[l]
}

// IntMultiplyAdds is MultiplyAdds of integers: the peak of package intgemm.
func IntMultiplyAdds(l simd.Level, n int) (operations int) {
	switch {
	case n < 1:
		return 0
	case l == simd.Portable:
		intPeakPortable(n)
	default:
		intPeakAVX(l, n)
	}
	return n * intOps[l]
}

// sink keeps the compiler from removing the work.
var sink float32

func multiplyAddsPortable(n int) {
	var a, b, c, d, e, f, g, h float32
	x, y := sink, sink
	for range n {
		a = float32(a*x) + y
		b = float32(b*x) + y
		c = float32(c*x) + y
		d = float32(d*x) + y
		e = float32(e*x) + y
		f = float32(f*x) + y
		g = float32(g*x) + y
		h = float32(h*x) + y
	}
	sink = a + b + c + d + e + f + g + h
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
