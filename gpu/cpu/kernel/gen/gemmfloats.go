package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// floatForms are the forms of panels without scales.
var floatForms = []struct {
	name string
	body func(*tile)
}{
	{"F32", func(b *tile) { b.floats(4, func(m Mem, w reg.VecVirtual) { VMOVUPS(m, w) }) }},
	{"BF16", (*tile).bf16},
	{"F16", func(b *tile) { b.floats(2, func(m Mem, w reg.VecVirtual) { VCVTPH2PS(m, w) }) }},
}

// unroll is the columns of an iteration: more where a tile has few tokens and an
// iteration little to do.
func (b *tile) unroll() int {
	if b.tokens <= 2 {
		return 4
	}
	return 1
}

// floats takes columns whose elements have so many bytes each and become float32
// as they are loaded.
func (b *tile) floats(bytes int, load func(m Mem, w reg.VecVirtual)) {
	column := 32 * bytes
	b.loop(b.unroll(), func(n int) {
		for c := range n {
			var w []reg.VecVirtual
			for v := range b.vectors {
				w = append(w, b.vector("w", v))
				load(b.rows(b.w, column*c, bytes, v), w[v])
			}
			if n == b.unroll() {
				for line := 0; line < column; line += 64 {
					b.prefetch(column*c + line)
				}
			}
			b.column(c, w)
		}
		ADDQ(U32(column*n), b.w)
		b.advance(n)
	})
}

// bf16 takes pairs of columns. The bits of a bfloat16 are the upper half of a
// float32: the even column is shifted there, the odd one is there already.
func (b *tile) bf16() {
	const pairBytes = 128
	upper := b.vector("upper", 0)
	upperHalves(b.wide, upper)
	half := func(pair int, odd bool) {
		var w []reg.VecVirtual
		for v := range b.vectors {
			w = append(w, b.vector("w", v))
			switch m := b.rows(b.w, pairBytes*pair, 4, v); {
			case !odd:
				VMOVUPS(m, w[v])
				VPSLLD(U8(16), w[v], w[v])
			case b.wide:
				VPANDD(m, upper, w[v])
			default:
				VPAND(m, upper, w[v])
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
			b.prefetch(pairBytes * p)
			b.prefetch(pairBytes*p + 64)
			half(p, false)
			if single { // the last column may have no odd one
				DECQ(b.left)
				JZ(LabelRef(b.name + "done"))
			}
			half(p, true)
		}
		ADDQ(U32(pairBytes*n), b.w)
		b.advance(2 * n)
	}
	if n := b.unroll() / 2; n > 0 {
		SUBQ(U8(2*n), b.left)
		JLT(LabelRef(b.name + "rest"))
		Label(b.name + "loop")
		pairs(n, false)
		SUBQ(U8(2*n), b.left)
		JGE(LabelRef(b.name + "loop"))
		Label(b.name + "rest")
		ADDQ(U8(2*n), b.left)
		JZ(LabelRef(b.name + "done"))
	}
	Label(b.name + "pair")
	pairs(1, true)
	DECQ(b.left)
	JNZ(LabelRef(b.name + "pair"))
	Label(b.name + "done")
}
