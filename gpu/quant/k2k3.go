package quant

// large is the elements of a block of the K types and of iq4_xs.
const large = 256

// q2_k, 84 bytes: 16 bytes of scales, 64 of codes, d, m (F16). Elements
// 16j..16j+15 share byte j of the scales: s in its low half, t in its high
// half. Codes have 2 bits: in each half of the block, of 128 elements and 32
// bytes, byte i holds elements i, i+32, i+64 and i+96 from its low bits up.
const bytesQ2_K = 84

func decodeQ2_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[large:], src[bytesQ2_K:] {
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

// twoBits is where in q2_k the bytes begin with the codes of elements 16j and
// on.
func twoBits(j int) int { return 16 + j/8*32 + j%2*16 }

// q3_k, 110 bytes: 32 bytes of high bits, 64 of low bits, 12 of scales, d
// (F16). Low bits lie as the codes of q2_k. The high bit of element i is bit
// i/32 of byte i%32. Scale j, of elements 16j..16j+15, has 6 bits: the low four
// in byte j%8, low half for j < 8, the high two in byte 8 + j%4, from bit
// j/4*2 on; it counts from -32.
const bytesQ3_K = 110

func decodeQ3_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[large:], src[bytesQ3_K:] {
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
