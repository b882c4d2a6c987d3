package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func widenI8(v lanes) {
	v.function("widenI8", "func(out *float32, in *int8, n int)", "widens n elements; n is a positive multiple of 16.")
	out, in, n := parameter("out"), parameter("in"), parameter("n")
	r := v.reg()
	v.vectors(n, func() {
		v.widened("I8", at(in, 0), r)
		VMOVUPS(r, at(out, 0))
		ADDQ(U8(v.n()), in)
		ADDQ(U8(4*v.n()), out)
	})
	end()
}

// magnitude compares float32 without signs as integers, which have the same order,
// NaN above infinity.
func magnitude(v lanes) {
	v.function("magnitude", "func(x *float32, n int) uint32", "is the largest of x without signs, as bits. n is a positive multiple of 16.")
	x, n := parameter("x"), parameter("n")
	most, sign, r := v.zero(), v.reg(), v.reg()
	bits := GP32()
	MOVL(U32(0x7fffffff), bits)
	VMOVD(bits, sign.AsX())
	VPBROADCASTD(sign.AsX(), sign)
	v.vectors(n, func() {
		if v.wide {
			VPANDD(at(x, 0), sign, r)
		} else {
			VPAND(at(x, 0), sign, r)
		}
		VPMAXUD(r, most, most)
		ADDQ(U8(v.bytes()), x)
	})
	VMOVD(v.fold(most, VPMAXUD), bits)
	Store(bits, ReturnIndex(0))
	end()
}

func toI8(v lanes) {
	v.function("toI8", "func(out *int8, x *float32, factor float32, n int)", "is x factor to nearest even; n is a positive multiple of 16.")
	out, x, n := parameter("out"), parameter("x"), parameter("n")
	factor, r, upper := v.parameter("factor"), v.reg(), XMM()
	v.vectors(n, func() {
		VMULPS(at(x, 0), factor, r)
		VCVTPS2DQ(r, r)
		if v.wide {
			VPMOVSDB(r, at(out, 0))
		} else {
			VEXTRACTI128(U8(1), r, upper)
			VPACKSSDW(upper, r.AsX(), r.AsX())
			VPACKSSWB(r.AsX(), r.AsX(), r.AsX())
			VMOVQ(r.AsX(), at(out, 0))
		}
		ADDQ(U8(v.bytes()), x)
		ADDQ(U8(v.n()), out)
	})
	end()
}
