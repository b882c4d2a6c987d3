package layout

import (
	"math"
	"unsafe"
)

// Panels hold numbers in native byte order, so they can be read in place. They start
// at multiples of 64 bytes of aligned memory.

// Floats is a panel of F32 as numbers.
func Floats(panel []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
}

// Words is a panel of BF16: pairs of columns.
func Words(panel []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
}

// Halves is a panel of F16.
func Halves(panel []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/2)
}

// EvenBF16 and OddBF16 are the columns of a pair of BF16, the even one in the lower
// half. A bfloat16 is the upper half of a float32.
func EvenBF16(pair uint32) float32 { return math.Float32frombits(pair << 16) }
func OddBF16(pair uint32) float32  { return math.Float32frombits(pair & 0xffff0000) }
