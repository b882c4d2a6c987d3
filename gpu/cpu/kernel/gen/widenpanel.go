package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// widenPairs turns pairs of columns of a BF16 panel into columns of float32: a
// bfloat16 is the upper half of one.
func widenPairs(v lanes) {
	v.function("widenPairs", "func(out *byte, in *byte, pairs int)", "turns pairs of columns of a BF16 panel into columns of F32; pairs is positive.")
	out, in, pairs := parameter("out"), parameter("in"), parameter("pairs")
	column := 32 * 4
	upper := v.reg()
	upperHalves(v.wide, upper)
	Label("pair")
	for row := 0; row < column; row += v.bytes() {
		even, odd := v.reg(), v.reg()
		VMOVUPS(at(in, row), even)
		if v.wide {
			VPANDD(even, upper, odd)
		} else {
			VPAND(even, upper, odd)
		}
		VPSLLD(U8(16), even, even)
		VMOVUPS(even, at(out, row))
		VMOVUPS(odd, at(out, column+row))
	}
	ADDQ(U32(column), in)
	ADDQ(U32(2*column), out)
	DECQ(pairs)
	JNZ(LabelRef("pair"))
	end()
}

// upperHalves sets the upper 16 bits of each lane: the odd column of a pair.
func upperHalves(wide bool, r reg.VecVirtual) {
	if wide {
		VPTERNLOGD(U8(0xff), r, r, r)
	} else {
		VPCMPEQD(r, r, r)
	}
	VPSLLD(U8(16), r, r)
}
