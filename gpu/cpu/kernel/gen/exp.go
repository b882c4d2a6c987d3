package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The exponential of float32 by Cephes' expf (Moshier): e^x = 2^k e^r with |r| at most
// ln(2)/2, ln(2) in two parts, e^r by a polynomial. Adding expMagic to k rounds it to an
// integer and leaves the exponent field of 2^k in the lowest bits.
const (
	log2e      = 1.44269504088896341
	ln2High    = 0.693359375
	ln2Low     = -2.12194440e-4
	expMagic   = 3<<22 + 127
	expLowest  = -88 // k = -127, whose exponent field is that of 0
	expLargest = 89  // k = 128, whose exponent field is that of infinity
)

var expPolynomial = []float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1}

// expf writes exponentials.
type expf struct {
	lanes
	c               laneConstants
	lowest, highest reg.VecVirtual
}

// laneConstants are values in all 16 lanes, 64 bytes each.
type laneConstants map[float32]Mem

func newExpTable(name string) laneConstants {
	values := slices.Concat([]float32{log2e, ln2High, ln2Low, expMagic, expLowest, expLargest}, expPolynomial[:7])
	c, all := laneConstants{}, []F32(nil)
	for _, x := range values {
		all = append(all, slices.Repeat([]F32{F32(x)}, 16)...)
	}
	memory := table(name, all)
	for i, x := range values {
		c[x] = memory.Offset(64 * i)
	}
	return c
}

// expf loads the constants that stay in registers; positive: arguments may be above 0.
func (v lanes) expf(c laneConstants, positive bool) expf {
	e := expf{lanes: v, c: c, lowest: v.reg()}
	VMOVUPS(c[expLowest], e.lowest)
	if positive {
		e.highest = v.reg()
		VMOVUPS(c[expLargest], e.highest)
	}
	return e
}

// of replaces x by e^x: below -87.7 by 0, above 88.4 by infinity, NaN by NaN.
func (e expf) of(x reg.VecVirtual) {
	k, f, p := e.reg(), e.reg(), e.reg()
	// If an operand is NaN, the second one in Intel's order is the result.
	VMAXPS(x, e.lowest, x)
	if e.highest != nil {
		VMINPS(x, e.highest, x)
	}
	VMOVUPS(e.c[expMagic], f)
	VFMADD231PS(e.c[log2e], x, f)
	VSUBPS(e.c[expMagic], f, k)
	VFNMADD231PS(e.c[ln2High], k, x)
	VFNMADD231PS(e.c[ln2Low], k, x)
	VMOVUPS(e.c[expPolynomial[0]], p)
	for _, c := range expPolynomial[1:] {
		VFMADD213PS(e.c[c], x, p)
	}
	VPSLLD(U8(23), f, f)
	VMULPS(f, p, x)
}
