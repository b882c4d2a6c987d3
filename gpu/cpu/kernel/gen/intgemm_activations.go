package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// quantizer is the state of quantizeRow: a group of 32 columns of one token.
type quantizer struct {
	x, out, groups, stride gpr
	correction, scale      gpr // their places, in bytes after out
	next                   gpr // bytes from group to group of the tile

	magnitude, least, full, ones8, ones16, unpack vec
	v                                             []vec // the group
	peak, a, half                                 vec
}

// quantizeRow writes one token of a tile of activations. There is no faster version for
// AVX-512, because it takes a hundredth of the time of the product.
func quantizeRow() {
	function("quantizeRowAVX2", "func(x *float32, out *byte, groups, step, sums, tokens int)",
		"quantises one token into its place in a tile: step and sums are those of Order.at. See QuantizeRow.")
	q := &quantizer{}
	q.setUp()
	loop("group", q.groups, func() {
		q.findPeak()
		q.round()
		q.sum()
		q.store()
		ADDQ(q.next, q.out)
		ADDQ(U32(128), q.x)
	})
	end()
}

func (q *quantizer) setUp() {
	q.x, q.out, q.groups, q.stride = parameter("x"), parameter("out"), parameter("groups"), parameter("step")
	q.correction, q.scale, q.next = parameter("sums"), GP64(), parameter("tokens")
	LEAQ(Mem{Base: q.correction, Index: q.next, Scale: 4}, q.scale)
	LEAQ(Mem{Base: q.next, Index: q.next, Scale: 4}, q.next)
	SHLQ(U8(3), q.next) // 40 bytes of each token
	q.magnitude = avx2.word(0x7fffffff)
	q.least = avx2.word(0x0da24260) // 1e-30
	q.full = avx2.word(0x42fe0000)  // 127
	q.ones8 = avx2.word(0x01010101)
	q.ones16 = avx2.word(ones16)
	q.unpack = YMM()
	VMOVDQU(table("quantizeOrder", []U32{0, 4, 1, 5, 2, 6, 3, 7}), q.unpack)
	q.v = avx2.regs(4)
	q.peak, q.a, q.half = YMM(), YMM(), YMM()
}

// findPeak loads the group and finds its largest magnitude, as integers, so that
// infinities and NaNs are the largest.
func (q *quantizer) findPeak() {
	for i, v := range q.v {
		VMOVUPS(at(q.x, 32*i), v)
		if i == 0 {
			VPAND(q.magnitude, v, q.peak)
			continue
		}
		VPAND(q.magnitude, v, q.a)
		VPMAXUD(q.a, q.peak, q.peak)
	}
	q.fold(q.peak, VPMAXUD)
	VPMAXUD(q.least.AsX(), q.peak.AsX(), q.peak.AsX())
}

// fold combines the lanes of r into all lanes of its lower half.
func (q *quantizer) fold(r vec, op func(...Op)) {
	half := q.half.AsX()
	VEXTRACTI128(U8(1), r, half)
	op(half, r.AsX(), r.AsX())
	for _, order := range []U8{0x4e, 0xb1} {
		VPSHUFD(order, r.AsX(), half)
		op(half, r.AsX(), r.AsX())
	}
}

// round writes the scale and rounds the group to bytes in q.v[0].
func (q *quantizer) round() {
	inverse, step, poison := YMM(), YMM(), YMM()
	VDIVSS(q.peak.AsX(), q.full.AsX(), inverse.AsX())
	VDIVSS(q.full.AsX(), q.peak.AsX(), step.AsX())
	VSUBSS(q.peak.AsX(), q.peak.AsX(), poison.AsX()) // 0, or NaN of an infinity
	VADDSS(poison.AsX(), step.AsX(), step.AsX())
	VMOVSS(step.AsX(), Mem{Base: q.out, Index: q.scale, Scale: 1})
	VBROADCASTSS(inverse.AsX(), inverse)
	for _, v := range q.v {
		VMULPS(inverse, v, v)
		VCVTPS2DQ(v, v)
	}
	VPACKSSDW(q.v[1], q.v[0], q.v[0])
	VPACKSSDW(q.v[3], q.v[2], q.v[2])
	VPACKSSWB(q.v[2], q.v[0], q.v[0])
	VPERMD(q.v[0], q.unpack, q.v[0])
}

// sum writes the correction, -128 times the sum of the bytes.
func (q *quantizer) sum() {
	VPMADDUBSW(q.v[0], q.ones8, q.a)
	VPMADDWD(q.ones16, q.a, q.a)
	q.fold(q.a, VPADDD)
	VPSLLD(U8(7), q.a.AsX(), q.a.AsX())
	VPXOR(q.half.AsX(), q.half.AsX(), q.half.AsX())
	VPSUBD(q.a.AsX(), q.half.AsX(), q.a.AsX())
	VMOVD(q.a.AsX(), Mem{Base: q.out, Index: q.correction, Scale: 1})
}

// store writes the bytes, four at a time.
func (q *quantizer) store() {
	VEXTRACTI128(U8(1), q.v[0], q.half.AsX())
	to := GP64()
	MOVQ(q.out, to)
	for i := range 8 {
		from := q.v[0].AsX()
		if i >= 4 {
			from = q.half.AsX()
		}
		VPEXTRD(U8(i%4), from, at(to, 0))
		if i < 7 {
			ADDQ(q.stride, to)
		}
	}
}
