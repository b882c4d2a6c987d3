package kernel

import "math"

// sumSquaresPortable has four lanes.
func sumSquaresPortable(x []float32) float32 {
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		p := (*[4]float32)(x[i:])
		a += float32(p[0] * p[0])
		b += float32(p[1] * p[1])
		c += float32(p[2] * p[2])
		d += float32(p[3] * p[3])
	}
	for ; i < len(x); i++ {
		a += float32(x[i] * x[i])
	}
	return (a + b) + (c + d)
}

// expPortable replaces each x by e^x, to 2 units in the last place between -87
// and 88; below it is 0, above infinite. It is written out because math.Exp
// differs between processors, and as a loop because a call an element costs as
// much as the arithmetic. The polynomial is that of Cephes (Moshier).
func expPortable(xs []float32) {
	const magic = 3 << 22 // adding it rounds to an integer
	for i, x := range xs {
		if !(x >= -87 && x <= 88) {
			xs[i] = expEnds(x)
			continue
		}
		k := float32(float32(float32(x*1.44269504088896341)+magic) - magic)
		x -= float32(k * 0.693359375)
		x -= float32(k * -2.12194440e-4)
		p := float32(float32(x*1.9875691500e-4) + 1.3981999507e-3)
		p = float32(float32(p*x) + 8.3334519073e-3)
		p = float32(float32(p*x) + 4.1665795894e-2)
		p = float32(float32(p*x) + 1.6666665459e-1)
		p = float32(float32(p*x) + 5.0000001201e-1)
		p = float32(float32(float32(float32(p*x)*x)+x) + 1)
		xs[i] = float32(p * math.Float32frombits(uint32(int32(k)+127)<<23))
	}
}

// expEnds is e^x where the polynomial does not hold.
func expEnds(x float32) float32 {
	switch {
	case x < 0:
		return 0
	case x > 0:
		return float32(math.Inf(1))
	}
	return x // NaN
}

func siluMulPortable(gate, up, out []float32) {
	var e [64]float32
	for len(gate) > 0 {
		n := min(len(gate), len(e))
		g, u, o := gate[:n], up[:n], out[:n]
		for i, x := range g {
			e[i] = -x
		}
		expPortable(e[:n])
		for i, x := range g {
			o[i] = float32(x/(1+e[i&63])) * u[i]
		}
		gate, up, out = gate[n:], up[n:], out[n:]
	}
}

func widenPortable(f Form, out []float32, in []uint16) {
	out = out[:len(in)]
	if f == BF16 {
		for i, h := range in {
			out[i] = math.Float32frombits(uint32(h) << 16)
		}
		return
	}
	for i, h := range in {
		out[i] = halfValue(h)
	}
}

// halfValue widens an IEEE 754 binary16: with its fields moved to their places
// it is the value times 2^-112, also where it is subnormal.
func halfValue(h uint16) float32 {
	sign, bits := uint32(h&0x8000)<<16, uint32(h&0x7fff)<<13
	if h&0x7c00 == 0x7c00 {
		return math.Float32frombits(sign | 0x7f800000 | bits)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(bits)*0x1p112))
}

func narrowPortable(f Form, out []uint16, in []float32) {
	out = out[:len(in)]
	if f == BF16 {
		for i, x := range in {
			b := math.Float32bits(x)
			if b&0x7fffffff > 0x7f800000 {
				out[i] = uint16(b>>16) | 0x40 // quiet, so that the cut mantissa is not zero
				continue
			}
			out[i] = uint16((b + 0x7fff + b>>16&1) >> 16)
		}
		return
	}
	for i, x := range in {
		out[i] = half(x)
	}
}

// half rounds to binary16, ties to even. What is too large becomes infinite.
func half(x float32) uint16 {
	b := math.Float32bits(x)
	sign, a := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case a > 0x7f800000:
		return sign | 0x7e00
	case a >= 0x477ff000: // 65520 and more round to infinity
		return sign | 0x7c00
	case a >= 0x38800000: // normal: drop 13 bits, rebias by 112
		return sign | uint16((a-112<<23+0xfff+a>>13&1)>>13)
	}
	// Subnormal: adding 0.5 leaves units of 2^-24 in the low mantissa bits,
	// rounded by the addition itself.
	return sign | uint16(math.Float32bits(math.Float32frombits(a)+0.5)-0x3f000000)
}
