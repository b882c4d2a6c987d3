package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
	c             [twoDegree + 1]Mem // of f^0, f^1, ...
}

func newDoubles(name string) doubles {
	var d doubles
	table, next := GLOBL(name, NOPTR|RODATA), 0
	add := func(x float64) Mem {
		for lane := range 8 {
			DATA(64*next+8*lane, F64(x))
		}
		next++
		return table.Offset(64 * (next - 1))
	}
	d.magic, d.lowest = add(twoMagic), add(twoLowest)
	c := 1.0
	for i := range d.c {
		d.c[i] = add(c)
		c *= math.Ln2 / float64(i+1)
	}
	return d
}

// expSum has two sums of 8 or 4 lanes.
func expSum(v lanes, d doubles) {
	v.function("sumExp", "func(x *float32, n int, highest, inverse float64) float64", "is the sum of 2^((x - highest) inverse), a relative 1e-11 off at most. n is a positive multiple of 32; no exponent is above 1.")
	x, n := parameter("x"), parameter("n")
	broadcast := func(name string) reg.VecVirtual {
		a, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		r := v.reg()
		VBROADCASTSD(a.Addr, r)
		return r
	}
	highest, inverse, lowest := broadcast("highest"), broadcast("inverse"), v.reg()
	VMOVUPD(d.lowest, lowest)
	sums := []reg.VecVirtual{v.zero(), v.zero()}
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
	if v.wide {
		upper := YMM()
		VEXTRACTF64X4(U8(1), s, upper)
		VADDPD(upper, s.AsY(), s.AsY())
	}
	upper := XMM()
	VEXTRACTF128(U8(1), s.AsY(), upper)
	VADDPD(upper, s.AsX(), s.AsX())
	VUNPCKHPD(s.AsX(), s.AsX(), upper)
	VADDPD(upper, s.AsX(), s.AsX())
	answer(s.AsX(), 0)
	RET()
}
