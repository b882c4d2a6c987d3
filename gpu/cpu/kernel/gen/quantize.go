package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantizeRow writes one token of a tile of activations. AVX-512 has no faster
// one: it is a hundredth of the product that follows.
func quantizeRow() {
	function("quantizeRowAVX2", "func(x *float32, out *byte, groups, step, sums, tokens int)",
		"quantizeRowAVX2 quantises one token into its place in a tile: step and sums are those of IntLayout.at. See QuantizeRow.")
	x, out, groups, stride := parameter("x"), parameter("out"), parameter("groups"), parameter("step")
	correction, scale, next := parameter("sums"), GP64(), parameter("tokens")
	LEAQ(Mem{Base: correction, Index: next, Scale: 4}, scale)
	LEAQ(Mem{Base: next, Index: next, Scale: 4}, next)
	SHLQ(U8(3), next) // 40 bytes of each token

	constant := func(bits uint32) reg.VecVirtual {
		r, c := GP32(), YMM()
		MOVL(U32(bits), r)
		VMOVD(r, c.AsX())
		VPBROADCASTD(c.AsX(), c)
		return c
	}
	magnitude := constant(0x7fffffff)
	least := constant(0x0da24260) // 1e-30
	full := constant(0x42fe0000)  // 127
	ones8 := constant(0x01010101)
	ones16 := constant(0x00010001)
	order := GLOBL("quantizeOrder", RODATA|NOPTR)
	for i, lane := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(lane))
	}
	unpack := YMM()
	VMOVDQU(order.Offset(0), unpack)

	Label("group")
	var v [4]reg.VecVirtual
	peak, a := YMM(), YMM()
	for i := range v {
		v[i] = YMM()
		VMOVUPS(at(x, 32*i), v[i])
		if i == 0 {
			VPAND(magnitude, v[0], peak)
			continue
		}
		// As integers, so that infinities and NaNs are the largest.
		VPAND(magnitude, v[i], a)
		VPMAXUD(a, peak, peak)
	}
	half := YMM()
	VEXTRACTI128(U8(1), peak, half.AsX())
	VPMAXUD(half.AsX(), peak.AsX(), peak.AsX())
	VPSHUFD(U8(0x4e), peak.AsX(), half.AsX())
	VPMAXUD(half.AsX(), peak.AsX(), peak.AsX())
	VPSHUFD(U8(0xb1), peak.AsX(), half.AsX())
	VPMAXUD(half.AsX(), peak.AsX(), peak.AsX())
	VPMAXUD(least.AsX(), peak.AsX(), peak.AsX())
	inverse, step, poison := YMM(), YMM(), YMM()
	VDIVSS(peak.AsX(), full.AsX(), inverse.AsX())
	VDIVSS(full.AsX(), peak.AsX(), step.AsX())
	VSUBSS(peak.AsX(), peak.AsX(), poison.AsX()) // 0, or NaN of an infinity
	VADDSS(poison.AsX(), step.AsX(), step.AsX())
	VMOVSS(step.AsX(), Mem{Base: out, Index: scale, Scale: 1})
	VBROADCASTSS(inverse.AsX(), inverse)
	for i := range v {
		VMULPS(inverse, v[i], v[i])
		VCVTPS2DQ(v[i], v[i])
	}
	VPACKSSDW(v[1], v[0], v[0])
	VPACKSSDW(v[3], v[2], v[2])
	VPACKSSWB(v[2], v[0], v[0])
	VPERMD(v[0], unpack, v[0])
	VPMADDUBSW(v[0], ones8, a)
	VPMADDWD(ones16, a, a)
	VEXTRACTI128(U8(1), a, half.AsX())
	VPADDD(half.AsX(), a.AsX(), a.AsX())
	VPSHUFD(U8(0x4e), a.AsX(), half.AsX())
	VPADDD(half.AsX(), a.AsX(), a.AsX())
	VPSHUFD(U8(0xb1), a.AsX(), half.AsX())
	VPADDD(half.AsX(), a.AsX(), a.AsX())
	VPSLLD(U8(7), a.AsX(), a.AsX())
	VPXOR(half.AsX(), half.AsX(), half.AsX())
	VPSUBD(a.AsX(), half.AsX(), a.AsX())
	VMOVD(a.AsX(), Mem{Base: out, Index: correction, Scale: 1})
	VEXTRACTI128(U8(1), v[0], half.AsX())
	to := GP64()
	MOVQ(out, to)
	for i := range 8 {
		from := v[0].AsX()
		if i >= 4 {
			from = half.AsX()
		}
		VPEXTRD(U8(i%4), from, at(to, 0))
		if i < 7 {
			ADDQ(stride, to)
		}
	}
	ADDQ(next, out)
	ADDQ(U32(128), x)
	DECQ(groups)
	JNZ(LabelRef("group"))
	end()
}
