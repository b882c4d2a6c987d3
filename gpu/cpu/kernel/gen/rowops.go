package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowops writes the kernels for rows of activations.
func rowops() {
	tail := newTailTable("rowsTail")
	exp := newExpTable("rowsExp")
	eachLevel(func(v lanes) {
		sumSquares(v, tail)
		scaleGain(v, tail)
		rotate(v, tail)
		siluMul(v, tail, exp)
	})
}

// sumSquares has four sums, to which vectors are added in turn; the remainder goes
// to the first.
func sumSquares(v lanes, tail Mem) {
	v.function("sumSquares", "func(x *float32, n int) float32", "is the sum of the squares of x.")
	x, n := parameter("x"), parameter("n")
	var sums []reg.VecVirtual
	for range 4 {
		sums = append(sums, v.zero())
	}
	r := v.reg()
	Label("four")
	CMPQ(n, U8(4*v.n()))
	JLT(LabelRef("vectors"))
	for i, s := range sums {
		VMOVUPS(at(x, v.bytes()*i), r)
		VFMADD231PS(r, r, s)
	}
	ADDQ(U32(4*v.bytes()), x)
	SUBQ(U8(4*v.n()), n)
	JMP(LabelRef("four"))
	v.each(n, tail, []reg.GPVirtual{x}, func(load loader, _ storer) {
		load(x, r)
		VFMADD231PS(r, r, sums[0])
	})
	VADDPS(sums[1], sums[0], sums[0])
	VADDPS(sums[3], sums[2], sums[2])
	VADDPS(sums[2], sums[0], sums[0])
	answer(v.sum(sums[0]), 0)
	RET()
}

func scaleGain(v lanes, tail Mem) {
	v.function("scaleGain", "func(x, gain, out *float32, scale float32, n int)", "is out = x scale gain; out may be x.")
	x, gain, out, n := parameter("x"), parameter("gain"), parameter("out"), parameter("n")
	scale, a, b := v.parameter("scale"), v.reg(), v.reg()
	v.each(n, tail, []reg.GPVirtual{x, gain, out}, func(load loader, store storer) {
		load(x, a)
		load(gain, b)
		VMULPS(scale, a, a)
		VMULPS(b, a, a)
		store(a, out)
	})
	end()
}

func rotate(v lanes, tail Mem) {
	v.function("rotate", "func(first, second, cos, sin *float32, n int)", "turns the pairs (first, second) by angles.")
	first, second, cos, sin, n := parameter("first"), parameter("second"), parameter("cos"), parameter("sin"), parameter("n")
	a, b, c, s, t := v.reg(), v.reg(), v.reg(), v.reg(), v.reg()
	v.each(n, tail, []reg.GPVirtual{first, second, cos, sin}, func(load loader, store storer) {
		load(first, a)
		load(second, b)
		load(cos, c)
		load(sin, s)
		VMULPS(b, s, t)
		VFMSUB231PS(a, c, t) // a cos - b sin
		store(t, first)
		VMULPS(a, s, t)
		VFMADD231PS(b, c, t) // b cos + a sin
		store(t, second)
	})
	end()
}

func siluMul(v lanes, tail Mem, c laneConstants) {
	v.function("siluMul", "func(gate, up, out *float32, n int)", "is out = gate / (1 + e^-gate) up; out may be either.")
	gate, up, out, n := parameter("gate"), parameter("up"), parameter("out"), parameter("n")
	exp, nought := v.expf(c, true), v.zero()
	g, u, e := v.reg(), v.reg(), v.reg()
	v.each(n, tail, []reg.GPVirtual{gate, up, out}, func(load loader, store storer) {
		load(gate, g)
		load(up, u)
		VSUBPS(g, nought, e)
		exp.of(e)
		VADDPS(c[1], e, e)
		VDIVPS(e, g, g)
		VMULPS(u, g, g)
		store(g, out)
	})
	end()
}
