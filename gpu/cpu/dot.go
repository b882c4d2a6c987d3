package cpu

import "math"

// A dot product has two lanes, even and odd indexes, each summed in order; the
// lanes are added at the end. One row alone and four rows at a time (which
// keeps eight independent sums in registers) give the same bits.

// dot4 is the dot product of x with four rows of its length.
func dot4(w0, w1, w2, w3, x []float32) (float32, float32, float32, float32) {
	n := len(x)
	w0, w1, w2, w3 = w0[:n], w1[:n], w2[:n], w3[:n]
	var a0, a1, b0, b1, c0, c1, d0, d1 float32
	i := 0
	for ; i+2 <= n; i += 2 {
		x0, x1 := x[i], x[i+1]
		a0 += float32(w0[i] * x0)
		a1 += float32(w0[i+1] * x1)
		b0 += float32(w1[i] * x0)
		b1 += float32(w1[i+1] * x1)
		c0 += float32(w2[i] * x0)
		c1 += float32(w2[i+1] * x1)
		d0 += float32(w3[i] * x0)
		d1 += float32(w3[i+1] * x1)
	}
	if i < n {
		x0 := x[i]
		a0 += float32(w0[i] * x0)
		b0 += float32(w1[i] * x0)
		c0 += float32(w2[i] * x0)
		d0 += float32(w3[i] * x0)
	}
	return a0 + a1, b0 + b1, c0 + c1, d0 + d1
}

// dot4BF16 is dot4 of rows of bfloat16, widened on the way: for one row of x,
// where a widened copy would be read only once.
func dot4BF16(w0, w1, w2, w3 []uint16, x []float32) (float32, float32, float32, float32) {
	n := len(x)
	w0, w1, w2, w3 = w0[:n], w1[:n], w2[:n], w3[:n]
	var a0, a1, b0, b1, c0, c1, d0, d1 float32
	i := 0
	for ; i+2 <= n; i += 2 {
		x0, x1 := x[i], x[i+1]
		a0 += float32(math.Float32frombits(uint32(w0[i])<<16) * x0)
		a1 += float32(math.Float32frombits(uint32(w0[i+1])<<16) * x1)
		b0 += float32(math.Float32frombits(uint32(w1[i])<<16) * x0)
		b1 += float32(math.Float32frombits(uint32(w1[i+1])<<16) * x1)
		c0 += float32(math.Float32frombits(uint32(w2[i])<<16) * x0)
		c1 += float32(math.Float32frombits(uint32(w2[i+1])<<16) * x1)
		d0 += float32(math.Float32frombits(uint32(w3[i])<<16) * x0)
		d1 += float32(math.Float32frombits(uint32(w3[i+1])<<16) * x1)
	}
	if i < n {
		x0 := x[i]
		a0 += float32(math.Float32frombits(uint32(w0[i])<<16) * x0)
		b0 += float32(math.Float32frombits(uint32(w1[i])<<16) * x0)
		c0 += float32(math.Float32frombits(uint32(w2[i])<<16) * x0)
		d0 += float32(math.Float32frombits(uint32(w3[i])<<16) * x0)
	}
	return a0 + a1, b0 + b1, c0 + c1, d0 + d1
}

// dot is one row of dot4.
func dot(w, x []float32) float32 {
	n := len(x)
	w = w[:n]
	var a0, a1 float32
	i := 0
	for ; i+2 <= n; i += 2 {
		a0 += float32(w[i] * x[i])
		a1 += float32(w[i+1] * x[i+1])
	}
	if i < n {
		a0 += float32(w[i] * x[i])
	}
	return a0 + a1
}
