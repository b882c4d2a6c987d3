// Package roofline measures the limits of the processor: bytes read per second and
// multiplications per second. Benchmarks report kernels as a share of them.
package roofline

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// ReadSum reads memory as fast as the level can: the limit of kernels that stream
// weights. The result depends on all bytes but has no meaning. len(b) is a multiple
// of 512.
func ReadSum(l simd.Level, b []byte) float32 {
	if len(b)%512 != 0 {
		panic("roofline: ReadSum takes multiples of 512 bytes")
	}
	if len(b) == 0 {
		return 0
	}
	switch l {
	case simd.AVX512, simd.AMX:
		return readSumAVX512(&b[0], len(b))
	case simd.AVX2:
		return readSumAVX2(&b[0], len(b))
	}
	var sums [4]uint32
	for ; len(b) > 0; b = b[16:] {
		for i := range sums {
			sums[i] += word(b[4*i:])
		}
	}
	return math.Float32frombits(sums[0] ^ sums[1] ^ sums[2] ^ sums[3])
}

func word(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// MultiplyAdds does n rounds of float32 multiply-adds in registers and returns the
// number of operations, two each: the peak of package gemm.
func MultiplyAdds(l simd.Level, n int) (operations int) {
	if n <= 0 {
		return 0
	}
	switch l {
	case simd.AVX512, simd.AMX:
		multiplyAddsAVX512(n)
		return n * 24 * 16 * 2
	case simd.AVX2:
		multiplyAddsAVX2(n)
		return n * 12 * 8 * 2
	}
	multiplyAddsPortable(n)
	return n * 8 * 2
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
