package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// transpose writes the activations of four tokens next to each other, eight columns at
// a time: a transposition of four by four in each half of a register.
func transpose() {
	function("transposeAVX2", "func(out *float32, stride int, x *float32, ldx int, columns int)",
		"writes x[t*ldx+c] of 4 tokens to out[c*stride+t]; columns is a positive multiple of 8.")
	out, stride, x, ldx, columns := parameter("out"), parameter("stride"), parameter("x"), parameter("ldx"), parameter("columns")
	SHLQ(U8(2), stride)
	SHLQ(U8(2), ldx)
	stride3, ldx3, upper := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	LEAQ(Mem{Base: ldx, Index: ldx, Scale: 2}, ldx3)
	// four is column, or token, i of four.
	four := func(base, one, three gpr, i int) Mem {
		return [...]Mem{
			{Base: base}, {Base: base, Index: one, Scale: 1}, {Base: base, Index: one, Scale: 2}, {Base: base, Index: three, Scale: 1},
		}[i]
	}
	var rows, pairs, done [4]vec
	for i := range rows {
		rows[i], pairs[i], done[i] = YMM(), YMM(), YMM()
	}
	Label("loop")
	for i, r := range rows {
		VMOVUPS(four(x, ldx, ldx3, i), r)
	}
	VUNPCKLPS(rows[1], rows[0], pairs[0])
	VUNPCKHPS(rows[1], rows[0], pairs[1])
	VUNPCKLPS(rows[3], rows[2], pairs[2])
	VUNPCKHPS(rows[3], rows[2], pairs[3])
	VUNPCKLPD(pairs[2], pairs[0], done[0])
	VUNPCKHPD(pairs[2], pairs[0], done[1])
	VUNPCKLPD(pairs[3], pairs[1], done[2])
	VUNPCKHPD(pairs[3], pairs[1], done[3])
	LEAQ(Mem{Base: out, Index: stride, Scale: 4}, upper)
	for i, d := range done {
		VMOVUPS(d.AsX(), four(out, stride, stride3, i))
		VEXTRACTF128(U8(1), d, four(upper, stride, stride3, i))
	}
	LEAQ(Mem{Base: out, Index: stride, Scale: 8}, out)
	ADDQ(U8(32), x)
	SUBQ(U8(8), columns)
	JNZ(LabelRef("loop"))
	end()
}
