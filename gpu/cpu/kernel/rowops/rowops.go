// Package rowops has the kernels for rows of activations: RMSNorm, rotary embedding and
// the gated activation.
package rowops

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/expf"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// RMSNorm is out = x / sqrt(mean(x^2) + eps) * gain, all of one length; out may be x.
func RMSNorm(l simd.Level, x, gain, out []float32, eps float32) {
	mean := sumSquares(l, x) / float32(len(x))
	scale := float32(1 / math.Sqrt(float64(mean+eps)))
	gain, out = gain[:len(x)], out[:len(x)]
	if l != simd.Portable {
		scaleGainAVX(l, &x[0], &gain[0], &out[0], scale, len(x))
		return
	}
	for i, g := range gain {
		out[i] = float32(x[i]*scale) * g
	}
}

// sumSquares adds in an order that depends on the length only, in plain Go in four lanes.
func sumSquares(l simd.Level, x []float32) float32 {
	if l != simd.Portable {
		return sumSquaresAVX(l, &x[0], len(x))
	}
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		p := (*[4]float32)(x[i:])
		a += float32(p[0] * p[0])
		b += float32(p[1] * p[1])
		c += float32(p[2] * p[2])
		d += float32(p[3] * p[3])
	}
	for ; i < len(x); i++ {
		a += float32(x[i] * x[i])
	}
	return (a + b) + (c + d)
}

// Rotate turns pairs (first[i], second[i]) by angles (cos[i], sin[i]), all of one length.
func Rotate(l simd.Level, first, second, cos, sin []float32) {
	n := len(first)
	if n == 0 {
		return
	}
	second, cos, sin = second[:n], cos[:n], sin[:n]
	if l != simd.Portable {
		rotateAVX(l, &first[0], &second[0], &cos[0], &sin[0], n)
		return
	}
	for i, a := range first {
		b := second[i]
		first[i] = float32(a*cos[i]) - float32(b*sin[i])
		second[i] = float32(b*cos[i]) + float32(a*sin[i])
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
	if l != simd.Portable {
		siluMulAVX(l, &gate[0], &up[0], &out[0], n)
		return
	}
	var e [64]float32
	for len(gate) > 0 {
		n := min(len(gate), len(e))
		g, u, o := gate[:n], up[:n], out[:n]
		for i, x := range g {
			e[i] = -x
		}
		expf.Of(e[:n])
		for i, x := range g {
			o[i] = float32(x/(1+e[i&63])) * u[i]
		}
		gate, up, out = gate[n:], up[n:], out[n:]
	}
}
