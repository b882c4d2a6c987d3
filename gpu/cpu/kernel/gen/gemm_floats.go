package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// floatForms are the forms of panels without scales.
var floatForms = []struct {
	name string
	body func(*floatTile)
}{
	{"F32", func(b *floatTile) { b.floats(4, func(m Mem, w vec) { VMOVUPS(m, w) }) }},
	{"BF16", (*floatTile).bf16},
	{"F16", func(b *floatTile) { b.floats(2, func(m Mem, w vec) { VCVTPH2PS(m, w) }) }},
}

// unroll is the columns of an iteration: more for few tokens, which make little work.
func (b *floatTile) unroll() int {
	if b.tokens <= 2 {
		return 4
	}
	return 1
}

// floats takes columns of elements of some bytes each, which load converts to float32.
func (b *floatTile) floats(bytes int, load func(m Mem, w vec)) {
	column := 32 * bytes
	unroll := b.unroll()
	columns := func(n int) {
		for c := range n {
			var w []vec
			for v := range b.vectors {
				w = append(w, b.vector("w", v))
				load(b.rows(b.w, column*c, bytes, v), w[v])
			}
			if n == unroll {
				b.fetchLines(column*c, column)
			}
			b.column(c, w)
		}
		b.advance(n, column*n)
	}
	if unroll == 1 {
		loop(b.name+"loop", b.left, func() { columns(1) })
		return
	}
	b.unrolled(unroll, func() { columns(unroll) })
	loop(b.name+"one", b.left, func() { columns(1) })
	Label(b.name + "done")
}

// bf16 takes pairs of columns. The bits of a bfloat16 are the upper half of a
// float32: the even column is shifted there, the odd one is there already.
func (b *floatTile) bf16() {
	const pairBytes = 128
	upper := b.vector("upper", 0)
	b.upperHalves(upper)
	half := func(pair int, odd bool) {
		var w []vec
		for v := range b.vectors {
			w = append(w, b.vector("w", v))
			if m := b.rows(b.w, pairBytes*pair, 4, v); odd {
				b.and(m, upper, w[v])
			} else {
				VMOVUPS(m, w[v])
				VPSLLD(U8(16), w[v], w[v])
			}
		}
		column := 2 * pair
		if odd {
			column++
		}
		b.column(column, w)
	}
	pairs := func(n int, single bool) {
		for p := range n {
			b.fetchLines(pairBytes*p, pairBytes)
			half(p, false)
			if single { // the last column may have no odd one
				DECQ(b.left)
				JZ(LabelRef(b.name + "done"))
			}
			half(p, true)
		}
		b.advance(2*n, pairBytes*n)
	}
	if n := b.unroll() / 2; n > 0 {
		b.unrolled(2*n, func() { pairs(n, false) })
	}
	loop(b.name+"pair", b.left, func() { pairs(1, true) })
	Label(b.name + "done")
}

// widenPairs turns pairs of columns of a BF16 panel into columns of float32: a
// bfloat16 is the upper half of one.
func widenPairs(v lanes) {
	v.function("widenPairs", "func(out *byte, in *byte, pairs int)", "turns pairs of columns of a BF16 panel into columns of F32; pairs is positive.")
	out, in, pairs := parameter("out"), parameter("in"), parameter("pairs")
	column := 32 * 4
	upper := v.reg()
	v.upperHalves(upper)
	loop("pair", pairs, func() {
		for row := 0; row < column; row += v.bytes() {
			even, odd := v.reg(), v.reg()
			VMOVUPS(at(in, row), even)
			v.and(even, upper, odd)
			VPSLLD(U8(16), even, even)
			VMOVUPS(even, at(out, row))
			VMOVUPS(odd, at(out, column+row))
		}
		ADDQ(U32(column), in)
		ADDQ(U32(2*column), out)
	})
	end()
}
