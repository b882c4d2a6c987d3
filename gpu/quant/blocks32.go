package quant

import (
	"encoding/binary"
	"math"
)

// The types with 32 elements a block: d (F16), with _1 also a minimum m (F16), with
// q5 a word whose bit i is the highest bit of the code of element i, then 16 bytes of
// which byte i holds the low four bits of the codes of elements i and i+16.
const (
	bytesQ4_0 = 18
	bytesQ4_1 = 20
	bytesQ5_0 = 22
	bytesQ5_1 = 24
)

func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block32:], src[bytesQ4_0:] {
		b, y := (*[bytesQ4_0]byte)(src), (*[block32]float32)(dst)
		d := half(b[:])
		for i := range 16 {
			c := int(b[2+i])
			y[i] = d * float32(c&15-8)
			y[i+16] = d * float32(c>>4-8)
		}
	}
}

func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block32:], src[bytesQ4_1:] {
		b, y := (*[bytesQ4_1]byte)(src), (*[block32]float32)(dst)
		d, m := half(b[:]), half(b[2:])
		for i := range 16 {
			c := int(b[4+i])
			y[i] = float32(d*float32(c&15)) + m
			y[i+16] = float32(d*float32(c>>4)) + m
		}
	}
}

func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block32:], src[bytesQ5_0:] {
		b, y := (*[bytesQ5_0]byte)(src), (*[block32]float32)(dst)
		d, high := half(b[:]), binary.LittleEndian.Uint32(b[2:])
		for i := range 16 {
			lo, hi := fiveBits(b[6+i], high, i)
			y[i] = d * float32(lo-16)
			y[i+16] = d * float32(hi-16)
		}
	}
}

func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block32:], src[bytesQ5_1:] {
		b, y := (*[bytesQ5_1]byte)(src), (*[block32]float32)(dst)
		d, m, high := half(b[:]), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
		for i := range 16 {
			lo, hi := fiveBits(b[8+i], high, i)
			y[i] = float32(d*float32(lo)) + m
			y[i+16] = float32(d*float32(hi)) + m
		}
	}
}

// fiveBits are the codes of elements i and i+16, from low bits and the word of high bits.
func fiveBits(low byte, high uint32, i int) (int, int) {
	return int(low&15) | int(high>>i&1)<<4, int(low>>4) | int(high>>(i+16)&1)<<4
}

// encodeScaled is the encoder of q4_0 and q5_0, whose codes have 4 and 5 bits. With
// n = 2^(bits-1): d = far / -n, where far is the element furthest from zero, so that
// its code is 0; q = x/d + n + 0.5, cut to an integer, at most 2n-1. Without fused
// multiply-add: a ggml that is compiled to one may differ by 1 in single codes.
func encodeScaled(bits int) func([]byte, []float32) {
	n, size := float32(int(1)<<(bits-1)), 2+4*(bits-4)+16
	return func(dst []byte, src []float32) {
		for ; len(src) > 0; dst, src = dst[size:], src[block32:] {
			b, x := dst[:size], (*[block32]float32)(src)
			far, finite := furthest(x)
			if !finite {
				notFinite(b, 1)
				continue
			}
			d := far / -n
			putHalf(b, d)
			putCodes(b[2:], x, bits, 0, inverse(d), n+0.5)
		}
	}
}

// encodeShifted is the encoder of q4_1 and q5_1: m = least, d = (most - least) / (2^bits
// - 1), q = (x - m)/d + 0.5, cut to an integer, at most 2^bits - 1.
func encodeShifted(bits int) func([]byte, []float32) {
	size := 4 + 4*(bits-4) + 16
	return func(dst []byte, src []float32) {
		for ; len(src) > 0; dst, src = dst[size:], src[block32:] {
			b, x := dst[:size], (*[block32]float32)(src)
			least, most, finite := extremes(x)
			if !finite {
				notFinite(b, 2)
				continue
			}
			d := (most - least) / float32(int(1)<<bits-1)
			putHalf(b, d)
			putHalf(b[2:], least)
			putCodes(b[4:], x, bits, least, inverse(d), 0.5)
		}
	}
}

// putCodes writes the codes (x - least) x inv + offset of 4 or 5 bits.
func putCodes(b []byte, x *[block32]float32, bits int, least, inv, offset float32) {
	if bits == 4 {
		codes := (*[16]byte)(b)
		for i := range codes {
			codes[i] = code(float32((x[i]-least)*inv)+offset, 15) | code(float32((x[i+16]-least)*inv)+offset, 15)<<4
		}
		return
	}
	codes, high := (*[16]byte)(b[4:]), uint32(0)
	for i := range codes {
		lo, hi := code(float32((x[i]-least)*inv)+offset, 31), code(float32((x[i+16]-least)*inv)+offset, 31)
		codes[i] = lo&15 | hi<<4
		high |= uint32(lo>>4)<<i | uint32(hi>>4)<<(i+16)
	}
	binary.LittleEndian.PutUint32(b, high)
}

// notFinite writes a block whose numbers, the first n of its F16, are NaN.
func notFinite(b []byte, n int) {
	clear(b)
	for i := range n {
		putHalf(b[2*i:], nan)
	}
}

// q8_0, 34 bytes: d (F16), then 32 codes as int8.
const bytesQ8_0 = 34

func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block32:], src[bytesQ8_0:] {
		b, y := (*[bytesQ8_0]byte)(src), (*[block32]float32)(dst)
		d := half(b[:])
		for i := range y {
			y[i] = d * float32(int8(b[2+i]))
		}
	}
}

// encodeQ8_0: d = largest |x| / 127, q = x/d to nearest, halves away from zero,
// x/d computed as x times 1/d in float32 with d before it is rounded to F16.
func encodeQ8_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ8_0:], src[block32:] {
		b, x := (*[bytesQ8_0]byte)(dst), (*[block32]float32)(src)
		far, finite := furthest(x)
		if !finite {
			notFinite(b[:], 1)
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

// block32 is the elements of a block of the types with one scale.
const block32 = 32

// furthest is the element with the largest absolute value, the first of
// several, with its sign. finite is false where an element is NaN or infinite.
func furthest(x *[block32]float32) (far float32, finite bool) {
	most := uint32(0) // bits of |far|: they order as the numbers do, NaN above Inf
	for _, v := range x {
		if b := math.Float32bits(v) &^ (1 << 31); b > most {
			most, far = b, v
		}
	}
	return far, most < 0x7f800000
}

func extremes(x *[block32]float32) (least, most float32, finite bool) {
	least, most = x[0], x[0]
	for _, v := range x {
		least, most = min(least, v), max(most, v) // NaN if one is
	}
	return least, most, most-most == 0 && least-least == 0
}

// inverse is 1/d, and 0 for 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// code cuts to an integer in 0..top. NaN, which only a block whose scale is
// zero or infinite can bring here, is 0.
func code(x float32, top int32) uint8 {
	if !(x > 0) {
		return 0
	}
	return uint8(int32(min(x, float32(top))))
}

var nan = float32(math.NaN())
