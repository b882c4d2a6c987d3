package main

import (
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
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

var expPolynomial = []F32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1}

type expf struct {
	lanes
	c               laneConstants
	lowest, highest vec
}

// laneConstants are values in all 16 lanes, 64 bytes each.
type laneConstants map[F32]Mem

func newExpTable(name string) laneConstants {
	values := slices.Concat([]F32{log2e, ln2High, ln2Low, expMagic, expLowest, expLargest}, expPolynomial[:7])
	c := laneConstants{}
	for i, m := range constants(name, values...) {
		c[values[i]] = m
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
func (e expf) of(x vec) {
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

// The exponential of float64 to 1e-11: 2^t = 2^k 2^f with |f| at most a half,
// 2^f by Taylor's polynomial, whose next term is 7e-12. Adding twoMagic to t
// rounds it to k and leaves the exponent field of 2^k in the lowest bits.
const (
	twoDegree = 9
	twoMagic  = 3<<51 + 1023
	twoLowest = -1022
)

// doubles are constants in 8 lanes, 64 bytes each.
type doubles struct {
	magic, lowest Mem
	c             []Mem // of f^0, f^1, ...
}

func newDoubles(name string) doubles {
	values, c := []F64{twoMagic, twoLowest}, 1.0
	for i := range twoDegree + 1 {
		values = append(values, F64(c))
		c *= math.Ln2 / float64(i+1)
	}
	all := constants(name, values...)
	return doubles{all[0], all[1], all[2:]}
}

// expSum has two sums of 8 or 4 lanes.
func expSum(v lanes, d doubles) {
	v.function("sumExp", "func(x *float32, n int, highest, inverse float64) float64", "is the sum of 2^((x - highest) inverse), a relative 1e-11 off at most. n is a positive multiple of 32; no exponent is above 1.")
	x, n := parameter("x"), parameter("n")
	highest, inverse, lowest := v.reg(), v.reg(), v.reg()
	VBROADCASTSD(argument("highest"), highest)
	VBROADCASTSD(argument("inverse"), inverse)
	VMOVUPD(d.lowest, lowest)
	sums := v.zeros(2)
	each := v.n() / 2
	Label("loop")
	for i := range sums {
		t, scale, k, p := v.reg(), v.reg(), v.reg(), v.reg()
		VCVTPS2PD(at(x, 4*each*i), t)
		VSUBPD(highest, t, t)
		VMULPD(inverse, t, t)
		VMAXPD(t, lowest, t)
		VADDPD(d.magic, t, scale)
		VSUBPD(d.magic, scale, k)
		VSUBPD(k, t, t)
		VMOVUPD(d.c[twoDegree], p)
		for i := twoDegree - 1; i >= 0; i-- {
			VFMADD213PD(d.c[i], t, p)
		}
		VPSLLQ(U8(52), scale, scale)
		VFMADD231PD(scale, p, sums[i])
	}
	ADDQ(U8(4*each*len(sums)), x)
	SUBQ(U8(each*len(sums)), n)
	JNZ(LabelRef("loop"))
	VADDPD(sums[1], sums[0], sums[0])
	s := sums[0]
	upper := v.quarter(s, VADDPD)
	VUNPCKHPD(s.AsX(), s.AsX(), upper)
	VADDPD(upper, s.AsX(), s.AsX())
	answer(s.AsX(), 0)
}
