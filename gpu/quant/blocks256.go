package quant

// block256 is the elements of a block of the K types and of iq4_xs.
const block256 = 256

// q2_k, 84 bytes: 16 bytes of scales, 64 of codes, d, m (F16). Elements
// 16j..16j+15 share byte j of the scales: s in its low half, t in its high
// half. Codes have 2 bits: in each half of the block, of 128 elements and 32
// bytes, byte i holds elements i, i+32, i+64 and i+96 from its low bits up.
const bytesQ2_K = 84

func decodeQ2_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block256:], src[bytesQ2_K:] {
		b := (*[bytesQ2_K]byte)(src)
		d, m := half(b[80:]), half(b[82:])
		for j := range 16 { // of 16 elements
			y, q := (*[16]float32)(dst[16*j:]), (*[16]byte)(b[twoBits(j):])
			scale, least, shift := d*float32(b[j]&15), m*float32(b[j]>>4), j/2%4*2
			for i, c := range q {
				y[i] = float32(scale*float32(c>>shift&3)) - least
			}
		}
	}
}

// twoBits is where in q2_k the bytes begin with the codes of elements 16j and on.
func twoBits(j int) int { return 16 + j/8*32 + j%2*16 }

// q3_k, 110 bytes: 32 bytes of high bits, 64 of low bits, 12 of scales, d (F16). Low bits
// lie as the codes of q2_k. The high bit of element i is bit i/32 of byte i%32. Scale j,
// of elements 16j..16j+15, has 6 bits: the low four in byte j%8, low half for j < 8, the
// high two in byte 8 + j%4, from bit j/4*2 on; it counts from -32.
const bytesQ3_K = 110

func decodeQ3_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block256:], src[bytesQ3_K:] {
		b := (*[bytesQ3_K]byte)(src)
		d, scales := half(b[108:]), (*[12]byte)(b[96:])
		for j := range 16 {
			y, high, q := (*[16]float32)(dst[16*j:]), (*[16]byte)(b[j%2*16:]), (*[16]byte)(b[16+twoBits(j):])
			s := int(scales[j%8]>>(j/8*4)&15) | int(scales[8+j%4]>>(j/4*2)&3)<<4
			scale, shift := d*float32(s-32), j/2%4*2
			for i, c := range q {
				y[i] = scale * float32(int(c>>shift&3)|int(high[i]>>(j/2)&1)<<2-4)
			}
		}
	}
}

// q4_k, 144 bytes: d, m (F16), 12 bytes of scales (see scales6), 128 of codes.
// In each quarter of the block, of 64 elements and 32 bytes, byte i holds
// element i in its low half and element i+32 in its high half.
const bytesQ4_K = 144

func decodeQ4_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block256:], src[bytesQ4_K:] {
		b := (*[bytesQ4_K]byte)(src)
		d, m := half(b[:]), half(b[2:])
		s, t := scales6((*[12]byte)(b[4:]))
		for j := range 4 {
			q, y0, y1 := (*[32]byte)(b[16+32*j:]), (*[32]float32)(dst[64*j:]), (*[32]float32)(dst[64*j+32:])
			d0, m0 := d*float32(s[2*j]), m*float32(t[2*j])
			d1, m1 := d*float32(s[2*j+1]), m*float32(t[2*j+1])
			for i, c := range q {
				y0[i] = float32(d0*float32(int(c&15))) - m0
				y1[i] = float32(d1*float32(int(c>>4))) - m1
			}
		}
	}
}

// scales6 are the scales s and t of 8 parts of 32 elements in q4_k and q5_k, 6
// bits each: of the first four parts in the low bits of bytes 0..3 and 4..7; of
// part j of the last four the low four bits in byte 4+j, s in its low half, t
// in its high half, the high two as the top bits of bytes j-4 and j.
func scales6(b *[12]byte) (s, t [8]uint8) {
	for j := range 4 {
		s[j], t[j] = b[j]&63, b[4+j]&63
		s[4+j], t[4+j] = b[8+j]&15|b[j]>>6<<4, b[8+j]>>4|b[4+j]>>6<<4
	}
	return s, t
}

// q5_k, 176 bytes: d, m (F16), 12 bytes of scales as in q4_k, 32 of high bits, 128 of low
// bits as the codes of q4_k. The high bit of element i is bit i/32 of byte i%32.
const bytesQ5_K = 176

func decodeQ5_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block256:], src[bytesQ5_K:] {
		b := (*[bytesQ5_K]byte)(src)
		d, m := half(b[:]), half(b[2:])
		s, t := scales6((*[12]byte)(b[4:]))
		high := (*[32]byte)(b[16:])
		for j := range 4 {
			q, y0, y1 := (*[32]byte)(b[48+32*j:]), (*[32]float32)(dst[64*j:]), (*[32]float32)(dst[64*j+32:])
			d0, m0 := d*float32(s[2*j]), m*float32(t[2*j])
			d1, m1 := d*float32(s[2*j+1]), m*float32(t[2*j+1])
			for i, c := range q {
				h := high[i] >> (2 * j)
				y0[i] = float32(d0*float32(int(c&15|h&1<<4))) - m0
				y1[i] = float32(d1*float32(int(c>>4|h>>1&1<<4))) - m1
			}
		}
	}
}

// q6_k, 210 bytes: 128 bytes of low bits, 64 of high bits, 16 scales as int8, d (F16). In
// each half of the block, of 128 elements: byte i of 64 holds the low four bits of element
// i, and in its high half those of i+64; byte i of 32 holds the high two bits of elements
// i, i+32, i+64 and i+96 from its low bits up. Scale j is of elements 16j..16j+15.
const bytesQ6_K = 210

func decodeQ6_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[block256:], src[bytesQ6_K:] {
		b := (*[bytesQ6_K]byte)(src)
		d := half(b[208:])
		for j := range 16 {
			y := (*[16]float32)(dst[16*j:])
			low, high := (*[16]byte)(b[j/8*64+j%4*16:]), (*[16]byte)(b[128+j/8*32+j%2*16:])
			scale := d * float32(int8(b[192+j]))
			lowShift, highShift := j/4%2*4, j/2%4*2
			for i, c := range low {
				y[i] = scale * float32(int(c>>lowShift&15|high[i]>>highShift&3<<4)-32)
			}
		}
	}
}
