// Package convert turns elements of BF16, F16 and int8 into float32 and back.
package convert

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// convertRun is the number of elements that the assembly converts at a time.
const convertRun = 16

// Widen converts elements of BF16 or F16 exactly. out has the length of in.
func Widen(l simd.Level, f layout.Form, out []float32, in []uint16) {
	check16(f)
	out = out[:len(in)]
	if n := len(in) &^ (convertRun - 1); n > 0 && l != simd.Portable {
		switch {
		case l >= simd.AVX512 && f == layout.BF16:
			widenBF16AVX512(&out[0], &in[0], n)
		case l >= simd.AVX512:
			widenF16AVX512(&out[0], &in[0], n)
		case f == layout.BF16:
			widenBF16AVX2(&out[0], &in[0], n)
		default:
			widenF16AVX2(&out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	widenPortable(f, out, in)
}

// Narrow rounds to BF16 or F16, to nearest even, with the same bits at every level
// except in the payload of NaN. out has the length of in.
func Narrow(l simd.Level, f layout.Form, out []uint16, in []float32) {
	check16(f)
	out = out[:len(in)]
	if n := len(in) &^ (convertRun - 1); n > 0 && l != simd.Portable {
		switch {
		case l >= simd.AVX512 && f == layout.BF16:
			narrowBF16AVX512(&out[0], &in[0], n)
		case l >= simd.AVX512:
			narrowF16AVX512(&out[0], &in[0], n)
		case f == layout.BF16:
			narrowBF16AVX2(&out[0], &in[0], n)
		default:
			narrowF16AVX2(&out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	narrowPortable(f, out, in)
}

func check16(f layout.Form) {
	if f != layout.BF16 && f != layout.F16 {
		panic(fmt.Sprintf("convert: elements of %s are not widened one by one", f))
	}
}

func widenPortable(f layout.Form, out []float32, in []uint16) {
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

func narrowPortable(f layout.Form, out []uint16, in []float32) {
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
