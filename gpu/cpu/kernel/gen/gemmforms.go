package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unroll is the columns of an iteration: more where a tile has few tokens and
// the iteration little to do.
func (b *tile) unroll() int {
	if b.tokens <= 4 {
		return 4
	}
	return 2
}

func (b *tile) f32() { b.floats(4, func(m Mem, w reg.VecVirtual) { VMOVUPS(m, w) }) }

func (b *tile) f16() { b.floats(2, func(m Mem, w reg.VecVirtual) { VCVTPH2PS(m, w) }) }

// floats takes columns whose 32 elements have so many bytes each and become
// float32 as they are loaded.
func (b *tile) floats(bytes int, load func(m Mem, w reg.VecVirtual)) {
	column := 32 * bytes
	MOVQ(b.cols, b.left)
	columns := func(n int) {
		for c := range n {
			var w []reg.VecVirtual
			for v := range b.vectors {
				w = append(w, b.vector("w", v))
				load(at(b.w, column*c+b.width()*bytes/4*v), w[v])
			}
			if n > 1 {
				for line := 0; line < column; line += 64 {
					b.prefetch(column*c + line)
				}
			}
			b.column(c, w)
		}
		ADDQ(U32(column*n), b.w)
		ADDQ(U32(4*b.tokens*n), b.x)
	}
	b.loop(b.unroll(), func() { columns(b.unroll()) }, func() { columns(1) })
}

// bf16 takes pairs of columns. The bits of a bfloat16 are the upper half of a
// float32: the even column is shifted there, the odd one stands there already.
func (b *tile) bf16() {
	MOVQ(b.cols, b.left)
	SHRQ(U8(1), b.left)
	upper := b.vector("upper", 0)
	upperHalves(b.wide, upper)
	even := func(pair int) {
		var w []reg.VecVirtual
		for v := range b.vectors {
			w = append(w, b.vector("w", v))
			VMOVUPS(at(b.w, 128*pair+b.width()*v), w[v])
			VPSLLD(U8(16), w[v], w[v])
		}
		b.column(2*pair, w)
	}
	pairs := func(n int) {
		for p := range n {
			if n > 1 {
				b.prefetch(128 * p)
				b.prefetch(128*p + 64)
			}
			even(p)
			var w []reg.VecVirtual
			for v := range b.vectors {
				w = append(w, b.vector("w", v))
				m := at(b.w, 128*p+b.width()*v)
				if b.wide {
					VPANDD(m, upper, w[v])
				} else {
					VPAND(m, upper, w[v])
				}
			}
			b.column(2*p+1, w)
		}
		ADDQ(U32(128*n), b.w)
		ADDQ(U32(8*b.tokens*n), b.x)
	}
	b.loop(2, func() { pairs(2) }, func() { pairs(1) })
	BTQ(U8(0), b.cols)
	JCC(LabelRef(b.name + "even"))
	even(0)
	Label(b.name + "even")
}

// What the forms of integers need in memory.
const (
	take     = "take"  // four masks for VPSHUFB: byte i of each 32 bits alone
	lower    = "lower" // the lower half of each byte
	offsetQ8 = "offsetQ8"
	offsetQ4 = "offsetQ4"
)

var constants = map[string]Mem{}

// constant is a value repeated over 64 bytes of read-only memory.
func constant(name string, values ...uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL("gemm"+name, RODATA|NOPTR)
	for i, v := range values {
		DATA(4*i, U32(v))
	}
	constants[name] = m
	return m
}

func repeated(v uint32) []uint32 {
	all := make([]uint32, 16)
	for i := range all {
		all[i] = v
	}
	return all
}

// takeByte is the mask that takes byte i of each 32 bits.
func takeByte(i int) Mem {
	var masks []uint32
	for i := range 4 {
		for j := range 16 {
			masks = append(masks, 0x80808000|uint32(j%4*4+i))
		}
	}
	return constant(take, masks...).Offset(64 * i)
}

// q8 takes groups of 32 columns, four of them from each 32 bits of a row.
func (b *tile) q8() {
	b.groups(8*128+64, constant(offsetQ8, repeated(0xc3000000)...), func(scaled func(int, func(w reg.VecVirtual))) { // -128
		b.steps("s", 8, func() {
			b.prefetch(0)
			b.prefetch(64)
			for i := range 4 {
				scaled(i, func(w reg.VecVirtual) { VPSHUFB(takeByte(i), w, w) })
			}
		})
	})
}

// q4 takes groups of 32 columns: four from the lower halves of each 32 bits of
// a row, for 16 columns, and then as many from the upper halves.
func (b *tile) q4() {
	b.groups(4*128+64, constant(offsetQ4, repeated(0xc1000000)...), func(scaled func(int, func(w reg.VecVirtual))) { // -8
		b.steps("l", 4, func() {
			b.prefetch(0)
			b.prefetch(64)
			for i := range 4 {
				scaled(i, func(w reg.VecVirtual) {
					VPSHUFB(takeByte(i), w, w)
					if m := constant(lower, repeated(0x0f)...); b.wide {
						VPANDD(m, w, w)
					} else {
						VPAND(m, w, w)
					}
				})
			}
		})
		SUBQ(U32(4*128), b.w)
		b.steps("u", 4, func() {
			for i := range 4 {
				scaled(i, func(w reg.VecVirtual) {
					VPSHUFB(takeByte(i), w, w)
					VPSRLD(U8(4), w, w)
				})
			}
		})
	})
}

// steps repeats what takes 128 bytes and four columns.
func (b *tile) steps(name string, n int, body func()) {
	MOVQ(U32(n), b.count)
	Label(b.name + name)
	body()
	ADDQ(U32(128), b.w)
	ADDQ(U32(16*b.tokens), b.x)
	DECQ(b.count)
	JNZ(LabelRef(b.name + name))
}

// groups repeats a body for each group of columns. The body calls scaled for
// each of the four columns of a step, with what makes the unsigned value of it
// from the 32 bits of a row. The weight is value*scale + offset*scale: both
// products and the sum are exact in float32, a scale having 11 bits.
func (b *tile) groups(bytes int, offset Mem, body func(scaled func(int, func(reg.VecVirtual)))) {
	MOVQ(b.cols, b.left)
	SHRQ(U8(5), b.left)
	Label(b.name + "group")
	var scale, correction []reg.VecVirtual
	for v := range b.vectors {
		s, c := b.vector("scale", v), b.vector("correction", v)
		VCVTPH2PS(at(b.scales, b.width()/2*v), s)
		VMULPS(offset, s, c)
		scale, correction = append(scale, s), append(correction, c)
		if !b.wide {
			VMOVUPS(s, b.local.Offset(32*v))
			VMOVUPS(c, b.local.Offset(32*(4+v)))
		}
	}
	ADDQ(U32(bytes), b.scales)
	body(func(i int, value func(reg.VecVirtual)) {
		var weights []reg.VecVirtual
		for v := range b.vectors {
			w := b.vector("w", v)
			VMOVUPS(at(b.w, b.width()*v), w)
			value(w)
			VCVTDQ2PS(w, w)
			if b.wide {
				VFMADD213PS(correction[v], scale[v], w)
			} else {
				VMULPS(b.local.Offset(32*v), w, w)
				VADDPS(b.local.Offset(32*(4+v)), w, w)
			}
			weights = append(weights, w)
		}
		b.column(i, weights)
	})
	b.prefetch(0) // the scales
	ADDQ(U8(64), b.w)
	DECQ(b.left)
	JNZ(LabelRef(b.name + "group"))
}
