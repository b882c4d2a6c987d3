package kernel

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
)

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
			out[i] = gpu.FromBF16(h)
		}
		return
	}
	for i, h := range in {
		out[i] = gpu.FromF16(h)
	}
}

func narrowPortable(f Form, out []uint16, in []float32) {
	out = out[:len(in)]
	if f == BF16 {
		for i, x := range in {
			out[i] = gpu.ToBF16(x)
		}
		return
	}
	for i, x := range in {
		out[i] = gpu.ToF16(x)
	}
}
