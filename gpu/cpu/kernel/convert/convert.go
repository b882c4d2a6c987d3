// Package convert turns elements of BF16, F16 and int8 into float32 and back.
package convert

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// whole is how many of n elements the assembly converts: a multiple of 16.
func whole(l simd.Level, n int) int {
	if l == simd.Portable {
		return 0
	}
	return n &^ 15
}

// Widen converts elements of BF16 or F16 exactly. out has the length of in.
func Widen(l simd.Level, f layout.Form, out []float32, in []uint16) {
	check16(f)
	out = out[:len(in)]
	if n := whole(l, len(in)); n > 0 {
		if f == layout.BF16 {
			widenBF16AVX(l, &out[0], &in[0], n)
		} else {
			widenF16AVX(l, &out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	out = out[:len(in)]
	if f == layout.BF16 {
		for i, h := range in {
			out[i] = gpu.FromBF16(h)
		}
		return
	}
	for i, h := range in {
		out[i] = gpu.FromF16(h)
	}
}

// Narrow rounds to BF16 or F16, to nearest even, with the same bits at every level
// except in the payload of NaN. out has the length of in.
func Narrow(l simd.Level, f layout.Form, out []uint16, in []float32) {
	check16(f)
	out = out[:len(in)]
	if n := whole(l, len(in)); n > 0 {
		if f == layout.BF16 {
			narrowBF16AVX(l, &out[0], &in[0], n)
		} else {
			narrowF16AVX(l, &out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	out = out[:len(in)]
	if f == layout.BF16 {
		for i, x := range in {
			out[i] = gpu.ToBF16(x)
		}
		return
	}
	for i, x := range in {
		out[i] = gpu.ToF16(x)
	}
}

func check16(f layout.Form) {
	if f != layout.BF16 && f != layout.F16 {
		panic(fmt.Sprintf("convert: elements of %s are not widened one by one", f))
	}
}

// WidenI8 converts integers without applying a scale. out has the length of in.
func WidenI8(l simd.Level, out []float32, in []int8) {
	out = out[:len(in)]
	if n := whole(l, len(in)); n > 0 {
		widenI8AVX(l, &out[0], &in[0], n)
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
// int8 KV pools in gpu/ref, with the same bits at every level. The result is
// zeros with scale 0 for a magnitude below 2^-119, and with scale NaN for NaN or an
// infinity. out has the length of x.
func QuantizeI8(l simd.Level, out []int8, x []float32) (scale float32) {
	out = out[:len(x)]
	n, most := whole(l, len(x)), uint32(0)
	if n > 0 {
		most = magnitudeAVX(l, &x[0], n)
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
	if n > 0 {
		toI8AVX(l, &out[0], &x[0], factor, n)
	}
	for i, v := range x[n:] {
		out[n+i] = int8(math.RoundToEven(float64(v * factor)))
	}
	return magnitude / 127
}
