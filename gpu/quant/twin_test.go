package quant_test

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
)

// bits reads a number whose bits, the lowest first, are at the given places:
// 8 times the byte plus the bit.
func bits(b []byte, at ...int) int {
	n := 0
	for i, a := range at {
		n |= int(b[a/8]>>(a%8)&1) << i
	}
	return n
}

// run are n places from a first one on.
func run(first, n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = first + i
	}
	return at
}

// f16 is an F16 by its definition.
func f16(b []byte, at int) float64 {
	frac, exp, sign := bits(b, run(8*at, 10)...), bits(b, run(8*at+10, 5)...), 1-2*float64(bits(b, 8*at+15))
	switch {
	case exp == 31 && frac != 0:
		return math.NaN()
	case exp == 31:
		return sign * math.Inf(1)
	case exp == 0:
		return sign * math.Ldexp(float64(frac), -24)
	}
	return sign * math.Ldexp(1024+float64(frac), exp-25)
}

func signed8(n int) float64 { return float64(int8(n)) }

// nibble is the code of element i of 32 in 16 bytes from byte at on.
func nibble(b []byte, at, i int) int { return bits(b, run(8*(at+i%16)+i/16*4, 4)...) }

// scale6 are the places of the bits of scale j (0..7) and of minimum j in the
// 12 bytes of q4_k and q5_k, read off the drawing of bytes, highest bit first
// (capitals are scales, a to h the parts):
//
//	0..3   EEAAAAAA FFBBBBBB GGCCCCCC HHDDDDDD
//	4..7   eeaaaaaa ffbbbbbb ggcccccc hhdddddd
//	8..11  eeeeEEEE ffffFFFF ggggGGGG hhhhHHHH
func scale6(j int) (s, t []int) {
	if j < 4 {
		return run(8*j, 6), run(8*(4+j), 6)
	}
	s = append(run(8*(8+j-4), 4), run(8*(j-4)+6, 2)...)
	t = append(run(8*(8+j-4)+4, 4), run(8*j+6, 2)...)
	return s, t
}

func shifted(places []int, bytes int) []int {
	for i := range places {
		places[i] += 8 * bytes
	}
	return places
}

var table = [16]float64{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// element decodes element i of a block, bit by bit as the format is documented, in
// float64; the slow twin of the decoders.
func element(d gpu.DType, b []byte, i int) float64 {
	half, part := i/128, i/32 // of a large block
	switch d {
	case gpu.F32:
		return float64(math.Float32frombits(uint32(bits(b, run(0, 32)...))))
	case gpu.F16:
		return f16(b, 0)
	case gpu.BF16:
		return float64(math.Float32frombits(uint32(bits(b, run(0, 16)...)) << 16))
	case gpu.Q8_0:
		return f16(b, 0) * signed8(bits(b, run(8*(2+i), 8)...))
	case gpu.Q4_0:
		return f16(b, 0) * float64(nibble(b, 2, i)-8)
	case gpu.Q4_1:
		return f16(b, 0)*float64(nibble(b, 4, i)) + f16(b, 2)
	case gpu.Q5_0:
		return f16(b, 0) * float64(nibble(b, 6, i)+16*bits(b, 8*2+i)-16)
	case gpu.Q5_1:
		return f16(b, 0)*float64(nibble(b, 8, i)+16*bits(b, 8*4+i)) + f16(b, 2)
	case gpu.Q2_K:
		q := bits(b, run(8*(16+32*half+i%32)+2*(part%4), 2)...)
		s, t := bits(b, run(8*(i/16), 4)...), bits(b, run(8*(i/16)+4, 4)...)
		return f16(b, 80)*float64(s*q) - f16(b, 82)*float64(t)
	case gpu.Q3_K:
		q := bits(b, run(8*(32+32*half+i%32)+2*(part%4), 2)...) + 4*bits(b, 8*(i%32)+part)
		j := i / 16
		s := bits(b, append(run(8*(96+j%8)+4*(j/8), 4), run(8*(96+8+j%4)+2*(j/4), 2)...)...)
		return f16(b, 108) * float64((s-32)*(q-4))
	case gpu.Q4_K, gpu.Q5_K:
		s, t := scale6(part)
		low, high := 16, 0
		if d == gpu.Q5_K {
			low, high = 48, 16*bits(b, 8*(16+i%32)+part)
		}
		q := bits(b, run(8*(low+32*(i/64)+i%32)+part%2*4, 4)...) + high
		return f16(b, 0)*float64(bits(b, shifted(s, 4)...)*q) - f16(b, 2)*float64(bits(b, shifted(t, 4)...))
	case gpu.Q6_K:
		in := i % 128
		q := bits(b, append(run(8*(64*half+in%64)+in/64*4, 4), run(8*(128+32*half+in%32)+in/32*2, 2)...)...)
		return f16(b, 208) * signed8(bits(b, run(8*(192+i/16), 8)...)) * float64(q-32)
	case gpu.IQ4_NL:
		return f16(b, 0) * table[nibble(b, 2, i)]
	case gpu.IQ4_XS:
		s := bits(b, append(run(8*4+4*part, 4), run(8*2+2*part, 2)...)...)
		return f16(b, 0) * float64(s-32) * table[nibble(b, 8+16*part, i%32)]
	}
	panic("a type without a twin")
}
