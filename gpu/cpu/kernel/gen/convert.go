package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func conversions() {
	eachLevel(func(v lanes) {
		for _, f := range []string{"BF16", "F16"} {
			widen(v, f)
			narrow(v, f)
		}
		widen(v, "I8")
		magnitude(v)
		toI8(v)
	})
}

// widened loads one vector of 16-bit elements, or of bytes, as float32.
func (v lanes) widened(form string, m Mem, r vec) {
	switch form {
	case "F32":
		VMOVUPS(m, r)
	case "BF16":
		VPMOVZXWD(m, r)
		VPSLLD(U8(16), r, r)
	case "F16":
		VCVTPH2PS(m, r)
	case "I8":
		VPMOVSXBD(m, r)
		VCVTDQ2PS(r, r)
	default:
		panic("gen: no form " + form)
	}
}

func widen(v lanes, form string) {
	element, bytes := "uint16", 2
	if form == "I8" {
		element, bytes = "int8", 1
	}
	v.function("widen"+form, "func(out *float32, in *"+element+", n int)", "widens n elements; n is a positive multiple of 16.")
	out, in, n := parameter("out"), parameter("in"), parameter("n")
	r := v.reg()
	v.vectors(n, func() {
		v.widened(form, at(in, 0), r)
		VMOVUPS(r, at(out, 0))
		ADDQ(U8(bytes*v.n()), in)
		ADDQ(U8(4*v.n()), out)
	})
	end()
}

func narrow(v lanes, form string) {
	v.function("narrow"+form, "func(out *uint16, in *float32, n int)", "rounds n elements to nearest even; n is a positive multiple of 16.")
	out, in, n := parameter("out"), parameter("in"), parameter("n")
	r := v.reg()
	var round func()
	if form == "F16" {
		round = func() { VCVTPS2PH(U8(0), r, at(out, 0)) }
	} else {
		round = narrowBF16(v, r, out)
	}
	v.vectors(n, func() {
		VMOVUPS(at(in, 0), r)
		round()
		ADDQ(U8(2*v.n()), out)
		ADDQ(U8(4*v.n()), in)
	})
	end()
}

// narrowBF16 rounds to nearest even: it adds 0x7fff, and one more if the kept part
// is odd, and truncates. NaN is truncated and made quiet.
func narrowBF16(v lanes, r, out register) func() {
	half, one, quiet := v.word(0x7fff), v.word(1), v.word(0x400000)
	odd := v.reg()
	var nan Op = v.reg()
	if v.wide {
		nan = K()
	}
	return func() {
		VCMPPS(U8(3), r, r, nan) // unordered
		VPSRLD(U8(16), r, odd)
		v.and(one, odd, odd)
		VPADDD(half, odd, odd)
		VPADDD(r, odd, odd)
		if v.wide {
			VPORD(quiet, r, nan, odd)
			VPSRLD(U8(16), odd, odd)
			VPMOVDW(odd, at(out, 0))
			return
		}
		VPOR(quiet, r, r)
		VPBLENDVB(nan, r, odd, odd)
		VPSRLD(U8(16), odd, odd)
		VPACKUSDW(odd, odd, odd)
		VPERMQ(U8(0b1000), odd, odd)
		VMOVDQU(odd.AsX(), at(out, 0))
	}
}

// magnitude compares float32 without signs as integers: the same order, NaN is largest.
func magnitude(v lanes) {
	v.function("magnitude", "func(x *float32, n int) uint32", "is the largest of x without signs, as bits. n is a positive multiple of 16.")
	x, n := parameter("x"), parameter("n")
	most, sign, r, bits := v.zero(), v.word(0x7fffffff), v.reg(), GP32()
	v.vectors(n, func() {
		v.and(at(x, 0), sign, r)
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
