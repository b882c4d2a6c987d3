package ref

import "math"

// tiniest is the least absmax that is not stored as zeros: below it the scale would not
// be a normal number, and 127/absmax would become infinite.
const tiniest = 1.0 / (1 << 119)

// QuantizeI8 is how a KV pool of int8 stores the K or V of one token and head:
//
//	scale = absmax / 127, q = x x (127 / absmax) rounded to nearest, ties to even
//
// all in float32, both quotients rounded once; q is in -127..127. A vector with an
// absmax below 2^-119 is stored as zeros with scale 0, one with NaN or an infinity as
// zeros with scale NaN, so that all of it reads back as NaN. dst is as long as src.
func QuantizeI8(dst []int8, src []float32) (scale float32) {
	dst = dst[:len(src)]
	most := uint32(0) // bits of absmax: they order as the numbers do, NaN above Inf
	for _, x := range src {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	absmax := math.Float32frombits(most)
	if most >= 0x7f800000 || absmax < tiniest {
		clear(dst)
		if absmax < tiniest {
			return 0
		}
		return float32(math.NaN())
	}
	factor := 127 / absmax
	for i, x := range src {
		dst[i] = int8(math.RoundToEven(float64(x * factor)))
	}
	return absmax / 127
}

// DequantizeI8 reads back what QuantizeI8 stored: x = scale x q, rounded once.
func DequantizeI8(dst []float32, src []int8, scale float32) {
	dst = dst[:len(src)]
	for i, q := range src {
		dst[i] = scale * float32(q)
	}
}
