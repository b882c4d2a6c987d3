// Package expf is the exponential of float32 in plain Go. The assembly of the
// other levels uses the same polynomial with other roundings.
package expf

import "math"

// Of replaces each x by e^x, to 2 units in the last place between -87 and 88; below
// the result is 0, above infinity. math.Exp differs between processors, so it is
// not used; this is a loop because a call per element would double the time. The
// polynomial is from Cephes (Moshier).
func Of(xs []float32) {
	const magic = 3 << 22 // adding it rounds to an integer
	for i, x := range xs {
		if !(x >= -87 && x <= 88) {
			xs[i] = outside(x)
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

// outside is e^x where the polynomial does not hold.
func outside(x float32) float32 {
	switch {
	case x < 0:
		return 0
	case x > 0:
		return float32(math.Inf(1))
	}
	return x // NaN
}
