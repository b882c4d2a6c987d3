package kernel

import (
	"math"
	"unsafe"
)

// Panels hold numbers as the machine does, so that they can be read in place.
// They begin at multiples of 64 bytes of memory that is aligned itself.

func floats(panel []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
}

func words(panel []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
}

func halves(panel []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/2)
}

// even and odd are the columns of a pair of BF16, the even one in the lower
// half: a bfloat16 is the upper half of a float32.
func even(pair uint32) float32 { return math.Float32frombits(pair << 16) }
func odd(pair uint32) float32  { return math.Float32frombits(pair & 0xffff0000) }

// fromF16 widens a binary16; exact.
func fromF16(h uint16) float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)<<13
	switch h & 0x7c00 {
	case 0x7c00: // infinite or NaN
		rest |= 0x7f800000
	case 0: // zero or subnormal
		rest = math.Float32bits(float32(h&0x3ff) * 0x1p-24)
	default:
		rest += (127 - 15) << 23
	}
	return math.Float32frombits(sign | rest)
}

// q8 and q4 are value x scale of an unsigned value; exact, a scale having 11
// bits.
func q8(b byte, scale float32) float32 { return float32(int32(b)-128) * scale }
func q4(b byte, scale float32) float32 { return float32(int32(b)-8) * scale }
