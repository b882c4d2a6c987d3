package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
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

// sumSquares adds vectors to four sums in turn; the remainder goes to the first sum.
func sumSquares(v lanes, tail Mem) {
	v.function("sumSquares", "func(x *float32, n int) float32", "is the sum of the squares of x.")
	x, n := parameter("x"), parameter("n")
	sums, r := v.zeros(4), v.reg()
	v.blocks(n, 4*v.n(), "four", "vectors", []gpr{x}, func() {
		for i, s := range sums {
			VMOVUPS(at(x, v.bytes()*i), r)
			VFMADD231PS(r, r, s)
		}
	})
	v.each(n, tail, []gpr{x}, func(mask register) {
		v.load(x, mask, r)
		VFMADD231PS(r, r, sums[0])
	})
	addFour(sums, VADDPS)
	answer(v.fold(sums[0], VADDPS), 0)
}

func scaleGain(v lanes, tail Mem) {
	v.function("scaleGain", "func(x, gain, out *float32, scale float32, n int)", "is out = x scale gain; out may be x.")
	x, gain, out, n := parameter("x"), parameter("gain"), parameter("out"), parameter("n")
	scale, a, b := v.parameter("scale"), v.reg(), v.reg()
	v.each(n, tail, []gpr{x, gain, out}, func(mask register) {
		v.load(x, mask, a)
		v.load(gain, mask, b)
		VMULPS(scale, a, a)
		VMULPS(b, a, a)
		v.store(a, mask, out)
	})
	end()
}

func rotate(v lanes, tail Mem) {
	v.function("rotate", "func(first, second, cos, sin *float32, n int)", "turns the pairs (first, second) by angles.")
	first, second, cos, sin, n := parameter("first"), parameter("second"), parameter("cos"), parameter("sin"), parameter("n")
	a, b, c, s, t := v.reg(), v.reg(), v.reg(), v.reg(), v.reg()
	v.each(n, tail, []gpr{first, second, cos, sin}, func(mask register) {
		v.load(first, mask, a)
		v.load(second, mask, b)
		v.load(cos, mask, c)
		v.load(sin, mask, s)
		VMULPS(b, s, t)
		VFMSUB231PS(a, c, t) // a cos - b sin
		v.store(t, mask, first)
		VMULPS(a, s, t)
		VFMADD231PS(b, c, t) // b cos + a sin
		v.store(t, mask, second)
	})
	end()
}

func siluMul(v lanes, tail Mem, c laneConstants) {
	v.function("siluMul", "func(gate, up, out *float32, n int)", "is out = gate / (1 + e^-gate) up; out may be either.")
	gate, up, out, n := parameter("gate"), parameter("up"), parameter("out"), parameter("n")
	exp, nought := v.expf(c, true), v.zero()
	g, u, e := v.reg(), v.reg(), v.reg()
	v.each(n, tail, []gpr{gate, up, out}, func(mask register) {
		v.load(gate, mask, g)
		v.load(up, mask, u)
		VSUBPS(g, nought, e)
		exp.of(e)
		VADDPS(c[1], e, e)
		VDIVPS(e, g, g)
		VMULPS(u, g, g)
		v.store(g, mask, out)
	})
	end()
}
