package quant

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// format is how a type of weights is stored.
type format struct {
	decode func(dst []float32, src []byte)
	encode func(dst []byte, src []float32) // nil: there is no encoder
	// scale and least are the offsets of a block's F16 numbers: its scale, and its
	// minimum or -1. Only for types in blocks, like the following.
	scale, least int
	// Of a block of random codes: the minimum for a scale of 1 that makes the mean
	// about 0, and the standard deviation of the elements then.
	ratio, deviation float64
}

var formats = [...]format{
	gpu.F32:    {decode: decodeF32, encode: encodeF32},
	gpu.F16:    {decode: decodeF16, encode: encodeF16},
	gpu.BF16:   {decode: decodeBF16, encode: encodeBF16},
	gpu.Q8_0:   {decodeQ8_0, encodeQ8_0, 0, -1, 0, 73.9},
	gpu.Q4_0:   {decodeQ4_0, encodeScaled(4), 0, -1, 0, 4.64},
	gpu.Q5_0:   {decodeQ5_0, encodeScaled(5), 0, -1, 0, 9.25},
	gpu.Q4_1:   {decodeQ4_1, encodeShifted(4), 0, 2, -7.5, 4.61},
	gpu.Q5_1:   {decodeQ5_1, encodeShifted(5), 0, 2, -15.5, 9.23},
	gpu.Q2_K:   {decodeQ2_K, nil, 80, 82, 1.5, 14},
	gpu.Q3_K:   {decodeQ3_K, nil, 108, -1, 0, 43.4},
	gpu.Q4_K:   {decodeQ4_K, nil, 0, 2, 7.5, 263},
	gpu.Q5_K:   {decodeQ5_K, nil, 0, 2, 15.5, 495},
	gpu.Q6_K:   {decodeQ6_K, nil, 208, -1, 0, 1370},
	gpu.IQ4_NL: {decodeIQ4_NL, nil, 0, -1, 0, 67},
	gpu.IQ4_XS: {decodeIQ4_XS, nil, 0, -1, 0, 1235},
}

// Dequantize decodes whole blocks of a weight type. It panics for other types and unless
// src holds exactly the bytes of len(dst) elements, which WeightSpec.Check verifies.
func Dequantize(d gpu.DType, dst []float32, src []byte) {
	check(d, len(dst), len(src))
	formats[d].decode(dst, src)
}

// CanQuantize reports whether Quantize has an encoder for a type.
func CanQuantize(d gpu.DType) bool { return int(d) < len(formats) && formats[d].encode != nil }

// Quantize encodes whole blocks, for the types of CanQuantize. dst must hold
// exactly the bytes of len(src) elements; it panics otherwise.
//
// A block with an element that is NaN or infinite decodes to NaN as a whole, so that it
// is noticed. A scale beyond F16 (elements above about 500 000) becomes infinite.
func Quantize(d gpu.DType, dst []byte, src []float32) {
	if !CanQuantize(d) {
		panic(fmt.Sprintf("quant: weights cannot be quantised to %s", d))
	}
	check(d, len(src), len(dst))
	formats[d].encode(dst, src)
}

// Random fills whole blocks of a quantised type with random codes, and scales that differ
// by a factor of up to 3: a mean of about 0 and the given standard deviation. next returns
// 64 random bits. For tests and models without weights; it panics for other types.
func Random(d gpu.DType, dst []byte, deviation float64, next func() uint64) {
	if !d.Quantised() {
		panic("quant: " + d.String() + " is not quantised")
	}
	check(d, len(dst)/d.BlockBytes()*d.BlockLen(), len(dst))
	f := &formats[d]
	var word [8]byte
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(word[:], next())
		copy(dst[i:], word[:])
	}
	for ; len(dst) > 0; dst = dst[d.BlockBytes():] {
		// Uniform in [0.5, 1.5), whose root mean square is 1.04.
		scale := deviation / f.deviation / 1.04 * (0.5 + float64(next()>>11)/(1<<53))
		putHalf(dst[f.scale:], float32(scale))
		if f.least >= 0 {
			putHalf(dst[f.least:], float32(scale*f.ratio))
		}
	}
}

func check(d gpu.DType, elements, bytes int) {
	if !d.ForWeights() {
		panic(fmt.Sprintf("quant: %s is not a weight type", d))
	}
	if want := d.Bytes(elements); bytes != want {
		panic(fmt.Sprintf("quant: %d bytes for %d elements of %s, want %d", bytes, elements, d, want))
	}
}

// half reads an F16.
func half(b []byte) float32 { return gpu.FromF16(binary.LittleEndian.Uint16(b)) }

// putHalf writes an F16, rounded to nearest even.
func putHalf(b []byte, f float32) { binary.LittleEndian.PutUint16(b, gpu.ToF16(f)) }
