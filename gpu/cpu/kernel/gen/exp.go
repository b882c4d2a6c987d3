package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The exponential of float32 by Cephes' expf (Moshier): e^x = 2^k e^r with |r|
// at most ln(2)/2, ln(2) in two parts, e^r by a polynomial.
const (
	log2e      = 1.44269504088896341
	ln2High    = 0.693359375
	ln2Low     = -2.12194440e-4
	expLowest  = -88 // k = -127, whose exponent field is that of 0
	expLargest = 89  // k = 128, whose exponent field is that of infinity
)

var expPolynomial = []float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}

// expf writes exponentials.
type expf struct {
	lanes
	c               laneConstants
	bias            Mem
	lowest, highest reg.VecVirtual
}

// expTable holds the constants of a family.
type expTable struct {
	c    laneConstants
	bias Mem
}

func newExpTable(name string) expTable {
	t := expTable{c: newLaneConstants(name, append([]float32{log2e, ln2High, ln2Low, expLowest, expLargest, 1, 0}, expPolynomial...)...)}
	t.bias = GLOBL(name+"Bias", NOPTR|RODATA)
	for i := range 16 {
		DATA(4*i, U32(127))
	}
	return t
}

// expf loads what stays in registers.
func (v lanes) expf(t expTable) expf {
	e := expf{lanes: v, c: t.c, bias: t.bias, lowest: v.reg(), highest: v.reg()}
	VMOVUPS(t.c[expLowest], e.lowest)
	VMOVUPS(t.c[expLargest], e.highest)
	return e
}

// of replaces x by e^x: below -87.7 by 0, above 88.4 by infinity, NaN by NaN.
func (e expf) of(x reg.VecVirtual) {
	k, f, p := e.reg(), e.reg(), e.reg()
	// The second operand in Intel's order comes through when one is NaN.
	VMAXPS(x, e.lowest, x)
	VMINPS(x, e.highest, x)
	VMULPS(e.c[log2e], x, k)
	VCVTPS2DQ(k, k)
	VCVTDQ2PS(k, f)
	VFNMADD231PS(e.c[ln2High], f, x)
	VFNMADD231PS(e.c[ln2Low], f, x)
	VMOVUPS(e.c[expPolynomial[0]], p)
	for _, c := range expPolynomial[1:] {
		VFMADD213PS(e.c[c], x, p)
	}
	VMULPS(x, x, f)
	VFMADD213PS(x, f, p) // p = p x^2 + x
	VADDPS(e.c[1], p, p)
	VPADDD(e.bias, k, k)
	VPSLLD(U8(23), k, k)
	VMULPS(k, p, x)
}
