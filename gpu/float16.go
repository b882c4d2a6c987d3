package gpu

import "math"

// FromBF16 widens a bfloat16; exact.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBF16 rounds to the nearest bfloat16, ties to even. NaN stays NaN.
func ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40 // quiet, so that the cut mantissa is not zero
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromF16 widens an IEEE 754 binary16; exact.
func FromF16(h uint16) float32 {
	sign, a := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case a >= 0x7c00: // infinite or NaN
		return math.Float32frombits(sign | 0x7f800000 | a<<13)
	case a < 0x400: // zero or subnormal: a x 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(a)*0x1p-24))
	}
	return math.Float32frombits(sign | a<<13 + 112<<23)
}

// ToF16 rounds to the nearest binary16, ties to even; too large is infinite, NaN stays NaN.
func ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign, a := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case a > 0x7f800000:
		return sign | 0x7e00
	case a >= 0x477ff000: // 65520 and more round to infinity
		return sign | 0x7c00
	case a >= 0x38800000: // normal: drop 13 bits, rebias by 112
		return sign | uint16((a-112<<23+0xfff+a>>13&1)>>13)
	}
	// Subnormal: adding 0.5 leaves units of 2^-24 in the low mantissa bits,
	// rounded by the addition itself.
	return sign | uint16(math.Float32bits(math.Float32frombits(a)+0.5)-0x3f000000)
}
