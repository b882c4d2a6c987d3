// Package rowops has the kernels for rows of activations: RMSNorm, rotary embedding
// and the gated activation.
package rowops

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// RMSNorm is out = x / sqrt(mean(x^2) + eps) * gain. All have the length of x;
// out may be x.
func RMSNorm(l simd.Level, x, gain, out []float32, eps float32) {
	mean := sumSquares(l, x) / float32(len(x))
	scale := float32(1 / math.Sqrt(float64(mean+eps)))
	gain, out = gain[:len(x)], out[:len(x)]
	switch l {
	case simd.AVX512, simd.AMX:
		scaleGainAVX512(&x[0], &gain[0], &out[0], scale, len(x))
	case simd.AVX2:
		scaleGainAVX2(&x[0], &gain[0], &out[0], scale, len(x))
	default:
		for i, g := range gain {
			out[i] = float32(x[i]*scale) * g
		}
	}
}

// sumSquares adds in an order that depends on the length only.
func sumSquares(l simd.Level, x []float32) float32 {
	switch l {
	case simd.AVX512, simd.AMX:
		return sumSquaresAVX512(&x[0], len(x))
	case simd.AVX2:
		return sumSquaresAVX2(&x[0], len(x))
	}
	return sumSquaresPortable(x)
}

// Rotate turns each pair (first[i], second[i]) by the angle of (cos[i], sin[i]).
// All have the same length.
func Rotate(l simd.Level, first, second, cos, sin []float32) {
	n := len(first)
	if n == 0 {
		return
	}
	second, cos, sin = second[:n], cos[:n], sin[:n]
	switch l {
	case simd.AVX512, simd.AMX:
		rotateAVX512(&first[0], &second[0], &cos[0], &sin[0], n)
	case simd.AVX2:
		rotateAVX2(&first[0], &second[0], &cos[0], &sin[0], n)
	default:
		for i, a := range first {
			b := second[i]
			first[i] = float32(a*cos[i]) - float32(b*sin[i])
			second[i] = float32(b*cos[i]) + float32(a*sin[i])
		}
	}
}

// SiluMul is out = gate / (1 + e^-gate) * up, element by element, so a row may be
// split anywhere. All have the length of gate; out may be gate or up.
func SiluMul(l simd.Level, gate, up, out []float32) {
	n := len(gate)
	if n == 0 {
		return
	}
	up, out = up[:n], out[:n]
	switch l {
	case simd.AVX512, simd.AMX:
		siluMulAVX512(&gate[0], &up[0], &out[0], n)
	case simd.AVX2:
		siluMulAVX2(&gate[0], &up[0], &out[0], n)
	default:
		siluMulPortable(gate, up, out)
	}
}
