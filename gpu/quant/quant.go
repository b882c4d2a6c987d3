package quant

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// Dequantize decodes whole blocks of a type of weights. src must hold exactly
// the bytes of len(dst) elements, as WeightSpec.Check sees to; it panics
// otherwise, and on a type that is not for weights.
func Dequantize(d gpu.DType, dst []float32, src []byte) {
	check(d, len(dst), len(src))
	switch d {
	case gpu.F32:
		decodeF32(dst, src)
	case gpu.F16:
		decodeF16(dst, src)
	case gpu.BF16:
		decodeBF16(dst, src)
	case gpu.Q8_0:
		decodeQ8_0(dst, src)
	case gpu.Q4_0:
		decodeQ4_0(dst, src)
	case gpu.Q4_1:
		decodeQ4_1(dst, src)
	case gpu.Q5_0:
		decodeQ5_0(dst, src)
	case gpu.Q5_1:
		decodeQ5_1(dst, src)
	case gpu.Q2_K:
		decodeQ2_K(dst, src)
	case gpu.Q3_K:
		decodeQ3_K(dst, src)
	case gpu.Q4_K:
		decodeQ4_K(dst, src)
	case gpu.Q5_K:
		decodeQ5_K(dst, src)
	case gpu.Q6_K:
		decodeQ6_K(dst, src)
	case gpu.IQ4_NL:
		decodeIQ4_NL(dst, src)
	case gpu.IQ4_XS:
		decodeIQ4_XS(dst, src)
	}
}

// CanQuantize tells whether Quantize knows a type.
func CanQuantize(d gpu.DType) bool {
	switch d {
	case gpu.F32, gpu.F16, gpu.BF16, gpu.Q8_0, gpu.Q4_0, gpu.Q4_1, gpu.Q5_0, gpu.Q5_1:
		return true
	}
	return false
}

// Quantize encodes whole blocks, for the types of CanQuantize. dst must hold
// exactly the bytes of len(src) elements; it panics otherwise.
//
// A block with an element that is NaN or infinite decodes to NaN as a whole,
// so that it is noticed. A scale beyond F16 (elements of some 500 000 and more)
// becomes infinite.
func Quantize(d gpu.DType, dst []byte, src []float32) {
	if !CanQuantize(d) {
		panic(fmt.Sprintf("quant: weights cannot be quantised to %s", d))
	}
	check(d, len(src), len(dst))
	switch d {
	case gpu.F32:
		encodeF32(dst, src)
	case gpu.F16:
		encodeF16(dst, src)
	case gpu.BF16:
		encodeBF16(dst, src)
	case gpu.Q8_0:
		encodeQ8_0(dst, src)
	case gpu.Q4_0:
		encodeQ4_0(dst, src)
	case gpu.Q4_1:
		encodeQ4_1(dst, src)
	case gpu.Q5_0:
		encodeQ5_0(dst, src)
	case gpu.Q5_1:
		encodeQ5_1(dst, src)
	}
}

func check(d gpu.DType, elements, bytes int) {
	if !d.ForWeights() {
		panic(fmt.Sprintf("quant: %s is no type of weights", d))
	}
	if want := d.Bytes(elements); bytes != want {
		panic(fmt.Sprintf("quant: %d bytes for %d elements of %s, want %d", bytes, elements, d, want))
	}
}

// half reads an F16.
func half(b []byte) float32 { return gpu.FromF16(binary.LittleEndian.Uint16(b)) }

// putHalf writes an F16, rounded to nearest even.
func putHalf(b []byte, f float32) { binary.LittleEndian.PutUint16(b, gpu.ToF16(f)) }
