package quant

import "math"

// q8_0, 34 bytes: d (F16), then 32 codes as int8.
const bytesQ8_0 = 34

func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[small:], src[bytesQ8_0:] {
		b, y := (*[bytesQ8_0]byte)(src), (*[small]float32)(dst)
		d := half(b[:])
		for i := range y {
			y[i] = d * float32(int8(b[2+i]))
		}
	}
}

// encodeQ8_0: d = largest |x| / 127, q = x/d to nearest, halves away from zero,
// x/d computed as x times 1/d in float32 with d before it is rounded to F16.
func encodeQ8_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ8_0:], src[small:] {
		b, x := (*[bytesQ8_0]byte)(dst), (*[small]float32)(src)
		far, finite := furthest(x)
		if !finite {
			*b = [bytesQ8_0]byte{}
			putHalf(b[:], nan)
			continue
		}
		d := float32(math.Abs(float64(far))) / 127
		inv := inverse(d)
		putHalf(b[:], d)
		for i, v := range x {
			b[2+i] = uint8(nearest(v * inv))
		}
	}
}

// nearest rounds halves away from zero, within -127..127. In float64 adding a
// half to a float32 of this range does not round up to the next integer.
func nearest(x float32) int8 {
	if x != x {
		return 0 // 0 x Inf, in a block whose scale is zero
	}
	f := float64(max(-127, min(x, 127)))
	return int8(f + math.Copysign(0.5, f))
}
