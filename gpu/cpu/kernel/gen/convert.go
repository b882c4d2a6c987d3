package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// conversions writes the conversions between element types.
func conversions() {
	eachLevel(func(v lanes) {
		for _, f := range []string{"BF16", "F16"} {
			widen(v, f)
			narrow(v, f)
		}
		widenI8(v)
		magnitude(v)
		toI8(v)
	})
}

// widened loads one vector of 16-bit elements, or of bytes, as float32.
func (v lanes) widened(form string, m Mem, r reg.VecVirtual) {
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

// vectors loops over n elements, whole vectors only.
func (v lanes) vectors(n reg.GPVirtual, body func()) {
	Label("vectors")
	body()
	SUBQ(U8(v.n()), n)
	JNZ(LabelRef("vectors"))
}

func widen(v lanes, form string) {
	v.function("widen"+form, "func(out *float32, in *uint16, n int)", "widens n elements; n is a positive multiple of 16.")
	out, in, n := parameter("out"), parameter("in"), parameter("n")
	r := v.reg()
	v.vectors(n, func() {
		v.widened(form, at(in, 0), r)
		VMOVUPS(r, at(out, 0))
		ADDQ(U8(2*v.n()), in)
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
func narrowBF16(v lanes, r, out reg.Register) func() {
	integer := func(x uint32) reg.VecVirtual {
		g, c := GP32(), v.reg()
		MOVL(U32(x), g)
		VMOVD(g, c.AsX())
		VPBROADCASTD(c.AsX(), c)
		return c
	}
	half, one, quiet := integer(0x7fff), integer(1), integer(0x400000)
	odd, nan := v.reg(), v.reg()
	if v.wide {
		k := K()
		return func() {
			VCMPPS(U8(3), r, r, k) // unordered
			VPSRLD(U8(16), r, odd)
			VPANDD(one, odd, odd)
			VPADDD(half, odd, odd)
			VPADDD(r, odd, odd)
			VPORD(quiet, r, k, odd)
			VPSRLD(U8(16), odd, odd)
			VPMOVDW(odd, at(out, 0))
		}
	}
	return func() {
		VCMPPS(U8(3), r, r, nan)
		VPSRLD(U8(16), r, odd)
		VPAND(one, odd, odd)
		VPADDD(half, odd, odd)
		VPADDD(r, odd, odd)
		VPOR(quiet, r, r)
		VPBLENDVB(nan, r, odd, odd)
		VPSRLD(U8(16), odd, odd)
		VPACKUSDW(odd, odd, odd)
		VPERMQ(U8(0b1000), odd, odd)
		VMOVDQU(odd.AsX(), at(out, 0))
	}
}
