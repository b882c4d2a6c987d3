package rowops

import "github.com/troupe-engine/troupe/gpu/cpu/kernel/expf"

// sumSquaresPortable adds in four lanes.
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

func siluMulPortable(gate, up, out []float32) {
	var e [64]float32
	for len(gate) > 0 {
		n := min(len(gate), len(e))
		g, u, o := gate[:n], up[:n], out[:n]
		for i, x := range g {
			e[i] = -x
		}
		expf.Of(e[:n])
		for i, x := range g {
			o[i] = float32(x/(1+e[i&63])) * u[i]
		}
		gate, up, out = gate[n:], up[n:], out[n:]
	}
}
