package kernel

import (
	"fmt"
	"math"
)

// RMSNorm is out = x / sqrt(mean(x^2) + eps) gain. All have the length of x;
// out may be x.
func RMSNorm(l Level, x, gain, out []float32, eps float32) {
	mean := sumSquares(l, x) / float32(len(x))
	scale := float32(1 / math.Sqrt(float64(mean+eps)))
	gain, out = gain[:len(x)], out[:len(x)]
	switch l {
	case AVX512, AMX:
		scaleGainAVX512(&x[0], &gain[0], &out[0], scale, len(x))
	case AVX2:
		scaleGainAVX2(&x[0], &gain[0], &out[0], scale, len(x))
	default:
		for i, g := range gain {
			out[i] = float32(x[i]*scale) * g
		}
	}
}

// sumSquares adds in an order that depends on the length only.
func sumSquares(l Level, x []float32) float32 {
	switch l {
	case AVX512, AMX:
		return sumSquaresAVX512(&x[0], len(x))
	case AVX2:
		return sumSquaresAVX2(&x[0], len(x))
	}
	return sumSquaresPortable(x)
}

// Rotate turns each pair (first[i], second[i]) by the angle of (cos[i], sin[i]).
// All have one length.
func Rotate(l Level, first, second, cos, sin []float32) {
	n := len(first)
	if n == 0 {
		return
	}
	second, cos, sin = second[:n], cos[:n], sin[:n]
	switch l {
	case AVX512, AMX:
		rotateAVX512(&first[0], &second[0], &cos[0], &sin[0], n)
	case AVX2:
		rotateAVX2(&first[0], &second[0], &cos[0], &sin[0], n)
	default:
		for i, a := range first {
			b := second[i]
			first[i] = float32(a*cos[i]) - float32(b*sin[i])
			second[i] = float32(b*cos[i]) + float32(a*sin[i])
		}
	}
}

// SiluMul is out = gate / (1 + e^-gate) up, element by element, so that a row
// may be cut anywhere. All have the length of gate; out may be gate or up.
func SiluMul(l Level, gate, up, out []float32) {
	n := len(gate)
	if n == 0 {
		return
	}
	up, out = up[:n], out[:n]
	switch l {
	case AVX512, AMX:
		siluMulAVX512(&gate[0], &up[0], &out[0], n)
	case AVX2:
		siluMulAVX2(&gate[0], &up[0], &out[0], n)
	default:
		siluMulPortable(gate, up, out)
	}
}

// convertRun is what the assembly converts at a time.
const convertRun = 16

// Widen converts elements of form BF16 or F16; exact. out has the length of in.
func Widen(l Level, f Form, out []float32, in []uint16) {
	check16(f)
	out = out[:len(in)]
	if n := len(in) &^ (convertRun - 1); n > 0 && l != Portable {
		switch {
		case l >= AVX512 && f == BF16:
			widenBF16AVX512(&out[0], &in[0], n)
		case l >= AVX512:
			widenF16AVX512(&out[0], &in[0], n)
		case f == BF16:
			widenBF16AVX2(&out[0], &in[0], n)
		default:
			widenF16AVX2(&out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	widenPortable(f, out, in)
}

// Narrow rounds to form BF16 or F16, to nearest even: the same bits at every
// level, but for the payload of NaN. out has the length of in.
func Narrow(l Level, f Form, out []uint16, in []float32) {
	check16(f)
	out = out[:len(in)]
	if n := len(in) &^ (convertRun - 1); n > 0 && l != Portable {
		switch {
		case l >= AVX512 && f == BF16:
			narrowBF16AVX512(&out[0], &in[0], n)
		case l >= AVX512:
			narrowF16AVX512(&out[0], &in[0], n)
		case f == BF16:
			narrowBF16AVX2(&out[0], &in[0], n)
		default:
			narrowF16AVX2(&out[0], &in[0], n)
		}
		out, in = out[n:], in[n:]
	}
	narrowPortable(f, out, in)
}

func check16(f Form) {
	if f != BF16 && f != F16 {
		panic(fmt.Sprintf("kernel: elements of %s are not widened one by one", f))
	}
}
