package quant

// q4_0, 18 bytes: d (F16), then 16 bytes of codes. Byte i holds element i in
// its low half and element i+16 in its high half.
const bytesQ4_0 = 18

func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[small:], src[bytesQ4_0:] {
		b, y := (*[bytesQ4_0]byte)(src), (*[small]float32)(dst)
		d := half(b[:])
		for i := range 16 {
			c := int(b[2+i])
			y[i] = d * float32(c&15-8)
			y[i+16] = d * float32(c>>4-8)
		}
	}
}

// encodeQ4_0: d = far / -8, far being the element furthest from zero, so that
// it gets the code 0; q = x/d + 8.5, cut to an integer, at most 15. No fused
// multiply-add: where ggml is compiled to one, single codes may differ by 1.
func encodeQ4_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ4_0:], src[small:] {
		b, x := (*[bytesQ4_0]byte)(dst), (*[small]float32)(src)
		far, finite := furthest(x)
		if !finite {
			*b = [bytesQ4_0]byte{}
			putHalf(b[:], nan)
			continue
		}
		d := far / -8
		inv := inverse(d)
		putHalf(b[:], d)
		for i := range 16 {
			lo, hi := code(float32(x[i]*inv)+8.5, 15), code(float32(x[i+16]*inv)+8.5, 15)
			b[2+i] = lo | hi<<4
		}
	}
}

// q4_1, 20 bytes: d, m (F16), then codes as in q4_0.
const bytesQ4_1 = 20

func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[small:], src[bytesQ4_1:] {
		b, y := (*[bytesQ4_1]byte)(src), (*[small]float32)(dst)
		d, m := half(b[:]), half(b[2:])
		for i := range 16 {
			c := int(b[4+i])
			y[i] = float32(d*float32(c&15)) + m
			y[i+16] = float32(d*float32(c>>4)) + m
		}
	}
}

// encodeQ4_1: m = least, d = (most - least) / 15, q = (x - m)/d + 0.5, cut to
// an integer, at most 15.
func encodeQ4_1(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ4_1:], src[small:] {
		b, x := (*[bytesQ4_1]byte)(dst), (*[small]float32)(src)
		least, most, finite := extremes(x)
		if !finite {
			*b = [bytesQ4_1]byte{}
			putHalf(b[:], nan)
			putHalf(b[2:], nan)
			continue
		}
		d := (most - least) / 15
		inv := inverse(d)
		putHalf(b[:], d)
		putHalf(b[2:], least)
		for i := range 16 {
			lo, hi := code(float32((x[i]-least)*inv)+0.5, 15), code(float32((x[i+16]-least)*inv)+0.5, 15)
			b[4+i] = lo | hi<<4
		}
	}
}
