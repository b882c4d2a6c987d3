package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// scan writes the kernels for rows of logits.
func scan() {
	twos := newDoubles("scanDouble")
	eachLevel(func(v lanes) {
		rowMax(v)
		index(v)
		atLeast(v)
		expSum(v, twos)
	})
}

// rowMax finds the largest element and whether any is NaN. The last vector overlaps
// the one before it, which changes neither result.
func rowMax(v lanes) {
	v.function("max", "func(x *float32, n int) (most float32, nan int32)", "is the largest of x; nan is not 0 if an element is NaN (then the maximum has no meaning). n is at least 16.")
	x, n := parameter("x"), parameter("n")
	peaks := v.regs(4)
	for _, p := range peaks {
		VMOVUPS(at(x, 0), p)
	}
	nan := v.zero()
	r, s, u := v.reg(), v.reg(), v.reg()
	k := GP32()
	XORL(k, k)
	// unordered records NaN in a or b.
	unordered := func(a, b register) {
		if v.wide {
			m := K()
			VCMPPS(U8(3), a, b, m)
			bits := GP32()
			KMOVW(m, bits)
			ORL(bits, k)
			return
		}
		VCMPPS(U8(3), a, b, u)
		VORPS(u, nan, nan)
	}
	v.blocks(n, 4*v.n(), "four", "one", []gpr{x}, func() {
		for i := 0; i < 4; i += 2 {
			VMOVUPS(at(x, v.bytes()*i), r)
			VMOVUPS(at(x, v.bytes()*(i+1)), s)
			unordered(r, s)
			VMAXPS(r, peaks[i], peaks[i])
			VMAXPS(s, peaks[i+1], peaks[i+1])
		}
	})
	vector := func() {
		VMOVUPS(at(x, 0), r)
		unordered(r, r)
		VMAXPS(r, peaks[0], peaks[0])
	}
	v.blocks(n, v.n(), "one", "rest", []gpr{x}, vector)
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("fold"))
	LEAQ(Mem{Base: x, Index: n, Scale: 4, Disp: -v.bytes()}, x)
	vector()
	Label("fold")
	addFour(peaks, VMAXPS)
	if !v.wide {
		VMOVMSKPS(nan, k)
	}
	Store(k, ReturnIndex(1))
	answer(v.fold(peaks[0], VMAXPS), 0)
}

// where sets a bit for each lane at x for which a comparison with value holds.
func (v lanes) where(x register, predicate int, value, scratch vec, bits gpr) {
	VMOVUPS(at(x, 0), scratch)
	if v.wide {
		m := K()
		VCMPPS(U8(predicate), value, scratch, m)
		KMOVW(m, bits)
		return
	}
	VCMPPS(U8(predicate), value, scratch, scratch)
	VMOVMSKPS(scratch, bits)
}

func index(v lanes) {
	v.function("index", "func(x *float32, n int, value float32) int", "is the index of the first element that equals value, n if none does. n is a positive multiple of 16.")
	x, n := parameter("x"), parameter("n")
	value, r := v.parameter("value"), v.reg()
	bits, index := GP32(), GP64()
	XORQ(index, index)
	Label("loop")
	v.where(x, 0, value, r, bits)
	TESTL(bits, bits)
	JNZ(LabelRef("found"))
	ADDQ(U8(v.bytes()), x)
	ADDQ(U8(v.n()), index)
	CMPQ(index, n)
	JLT(LabelRef("loop"))
	Store(index, ReturnIndex(0))
	end()
	Label("found")
	BSFL(bits, bits)
	ADDQ(bits.As64(), index)
	Store(index, ReturnIndex(0))
	end()
}

func atLeast(v lanes) {
	v.function("atLeast", "func(x *float32, n int, bound float32, ids *int32) int", "lists i for each x[i] >= bound, ascending, and returns their number. n is a positive multiple of 16.")
	x, n, ids := parameter("x"), parameter("n"), parameter("ids")
	bound, r := v.parameter("bound"), v.reg()
	base, bits, lane, start := GP32(), GP32(), GP32(), GP64() // base: the vector's first index
	XORL(base, base)
	MOVQ(ids, start)
	Label("loop")
	v.where(x, 13, bound, r, bits)
	Label("bits")
	TESTL(bits, bits)
	JZ(LabelRef("next"))
	BSFL(bits, lane)
	ADDL(base, lane)
	MOVL(lane, at(ids, 0))
	ADDQ(U8(4), ids)
	LEAL(Mem{Base: bits, Disp: -1}, lane)
	ANDL(lane, bits)
	JMP(LabelRef("bits"))
	Label("next")
	ADDQ(U8(v.bytes()), x)
	ADDL(U8(v.n()), base)
	SUBQ(U8(v.n()), n)
	JNZ(LabelRef("loop"))
	SUBQ(start, ids)
	SHRQ(U8(2), ids)
	Store(ids, ReturnIndex(0))
	end()
}
