package quant

import "encoding/binary"

// iq4 has the number of each code, denser around zero. From ggml (kvalues_iq4nl).
var iq4 = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// iq4_nl, 18 bytes: d (F16), then codes as in q4_0.
const bytesIQ4_NL = 18

func decodeIQ4_NL(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block32:], src[bytesIQ4_NL:] {
		b := (*[bytesIQ4_NL]byte)(src)
		decodeIQ4((*[block32]float32)(dst), (*[16]byte)(b[2:]), half(b[:]))
	}
}

func decodeIQ4(y *[block32]float32, codes *[16]byte, scale float32) {
	for i, c := range codes {
		y[i] = scale * iq4[c&15]
		y[i+16] = scale * iq4[c>>4]
	}
}

// iq4_xs, 136 bytes: d (F16), a 16-bit word and 4 bytes of scales, 128 bytes of
// codes. Part j of 32 elements has its codes in bytes 16j..16j+15 of them, as
// in q4_0, and a scale of 6 bits that counts from -32: the low four in byte
// j/2, the even part in its low half, the high two from bit 2j of the word on.
const bytesIQ4_XS = 136

func decodeIQ4_XS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block256:], src[bytesIQ4_XS:] {
		b := (*[bytesIQ4_XS]byte)(src)
		d, high := half(b[:]), binary.LittleEndian.Uint16(b[2:])
		for j := range 8 {
			s := int(b[4+j/2]>>(j%2*4)&15) | int(high>>(2*j)&3)<<4
			decodeIQ4((*[block32]float32)(dst[32*j:]), (*[16]byte)(b[8+16*j:]), d*float32(s-32))
		}
	}
}
