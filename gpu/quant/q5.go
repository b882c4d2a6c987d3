package quant

import "encoding/binary"

// q5_0, 22 bytes: d (F16), a word whose bit i is the highest bit of the code of
// element i, then the low 4 bits of the codes as in q4_0.
const bytesQ5_0 = 22

func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[small:], src[bytesQ5_0:] {
		b, y := (*[bytesQ5_0]byte)(src), (*[small]float32)(dst)
		d, high := half(b[:]), binary.LittleEndian.Uint32(b[2:])
		for i := range 16 {
			lo, hi := fiveBits(b[6+i], high, i)
			y[i] = d * float32(lo-16)
			y[i+16] = d * float32(hi-16)
		}
	}
}

// fiveBits are the codes of elements i and i+16, from their low bits and the
// word of high ones.
func fiveBits(low byte, high uint32, i int) (int, int) {
	return int(low&15) | int(high>>i&1)<<4, int(low>>4) | int(high>>(i+16)&1)<<4
}

// encodeQ5_0: d = far / -16, q = x/d + 16.5, cut to an integer, at most 31;
// otherwise as q4_0.
func encodeQ5_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ5_0:], src[small:] {
		b, x := (*[bytesQ5_0]byte)(dst), (*[small]float32)(src)
		far, finite := furthest(x)
		if !finite {
			*b = [bytesQ5_0]byte{}
			putHalf(b[:], nan)
			continue
		}
		d := far / -16
		inv := inverse(d)
		putHalf(b[:], d)
		high := uint32(0)
		for i := range 16 {
			lo, hi := code(float32(x[i]*inv)+16.5, 31), code(float32(x[i+16]*inv)+16.5, 31)
			b[6+i] = lo&15 | hi<<4
			high |= uint32(lo>>4)<<i | uint32(hi>>4)<<(i+16)
		}
		binary.LittleEndian.PutUint32(b[2:], high)
	}
}

// q5_1, 24 bytes: d, m (F16), then as in q5_0.
const bytesQ5_1 = 24

func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[small:], src[bytesQ5_1:] {
		b, y := (*[bytesQ5_1]byte)(src), (*[small]float32)(dst)
		d, m, high := half(b[:]), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
		for i := range 16 {
			lo, hi := fiveBits(b[8+i], high, i)
			y[i] = float32(d*float32(lo)) + m
			y[i+16] = float32(d*float32(hi)) + m
		}
	}
}

// encodeQ5_1: d = (most - least) / 31, codes at most 31; otherwise as q4_1.
func encodeQ5_1(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ5_1:], src[small:] {
		b, x := (*[bytesQ5_1]byte)(dst), (*[small]float32)(src)
		least, most, finite := extremes(x)
		if !finite {
			*b = [bytesQ5_1]byte{}
			putHalf(b[:], nan)
			putHalf(b[2:], nan)
			continue
		}
		d := (most - least) / 31
		inv := inverse(d)
		putHalf(b[:], d)
		putHalf(b[2:], least)
		high := uint32(0)
		for i := range 16 {
			lo, hi := code(float32((x[i]-least)*inv)+0.5, 31), code(float32((x[i+16]-least)*inv)+0.5, 31)
			b[8+i] = lo&15 | hi<<4
			high |= uint32(lo>>4)<<i | uint32(hi>>4)<<(i+16)
		}
		binary.LittleEndian.PutUint32(b[4:], high)
	}
}
