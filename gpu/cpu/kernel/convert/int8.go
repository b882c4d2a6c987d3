package convert

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// WidenI8 converts integers without applying a scale. out has the length of in.
func WidenI8(l simd.Level, out []float32, in []int8) {
	out = out[:len(in)]
	if n := len(in) &^ (convertRun - 1); n > 0 && l != simd.Portable {
		if l >= simd.AVX512 {
			widenI8AVX512(&out[0], &in[0], n)
		} else {
			widenI8AVX2(&out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	for i, x := range in {
		out[i] = float32(x)
	}
}

// leastMagnitude is 2^-119: not far below it 127 / magnitude is infinite.
const leastMagnitude = 1.0 / (1 << 119)

// QuantizeI8 rounds x * (127 / magnitude) to out, to nearest even, where magnitude
// is the largest of x, and returns the scale magnitude / 127. This is the format of
// int8 KV pools in gpu/quant, with the same bits at every level. A magnitude below
// 2^-119 gives zeros and scale 0; NaN or an infinity gives zeros and scale NaN. out
// has the length of x.
func QuantizeI8(l simd.Level, out []int8, x []float32) (scale float32) {
	out = out[:len(x)]
	n := len(x) &^ (convertRun - 1)
	if l == simd.Portable {
		n = 0
	}
	most := uint32(0)
	switch {
	case n == 0:
	case l >= simd.AVX512:
		most = magnitudeAVX512(&x[0], n)
	default:
		most = magnitudeAVX2(&x[0], n)
	}
	for _, v := range x[n:] {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	magnitude := math.Float32frombits(most)
	if most >= 0x7f800000 {
		clear(out)
		return float32(math.NaN())
	}
	if magnitude < leastMagnitude {
		clear(out)
		return 0
	}
	factor := 127 / magnitude
	switch {
	case n == 0:
	case l >= simd.AVX512:
		toI8AVX512(&out[0], &x[0], factor, n)
	default:
		toI8AVX2(&out[0], &x[0], factor, n)
	}
	for i, v := range x[n:] {
		out[n+i] = int8(math.RoundToEven(float64(v * factor)))
	}
	return magnitude / 127
}
