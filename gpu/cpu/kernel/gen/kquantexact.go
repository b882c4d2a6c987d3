package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// behind is where something stands behind b.w that has so many bytes a row,
// which b.w has 4 of: in the upper half of a panel it is 16 rows on.
func (b *tile) behind(base reg.Register, disp, bytesOfRow, vector int) Mem {
	if b.upper {
		disp += 16*bytesOfRow - 16*4
	}
	return at(base, disp+bytesOfRow*b.width()/4*vector)
}

// groupScales begins a group: scale and offset of each vector, in registers or,
// with AVX2, in memory.
func (b *tile) groupScales(make func(vector int, scale, offset reg.VecVirtual)) {
	for v := range b.vectors {
		s, o := b.vector("scale", v), b.vector("correction", v)
		make(v, s, o)
		if !b.wide {
			VMOVUPS(s, b.local.Offset(32*v))
			VMOVUPS(o, b.local.Offset(32*(4+v)))
		}
	}
}

// blocks repeats a body for each of the eight groups of each block, whose head
// of so many bytes b.scales points to.
func (b *tile) eachBlock(head int, body func()) {
	MOVQ(b.cols, b.left)
	SHRQ(U8(8), b.left)
	Label(b.name + "block")
	MOVQ(b.w, b.scales)
	ADDQ(U32(uint32(head)), b.w)
	b.prefetch(0)
	MOVQ(U32(8), b.row)
	Label(b.name + "group")
	body()
	DECQ(b.row)
	JNZ(LabelRef(b.name + "group"))
	DECQ(b.left)
	JNZ(LabelRef(b.name + "block"))
}

// q41 and q4k take groups as q4 does. The weight is value*scale + offset, or
// less offset: the product is exact, the sum rounded once.
func (b *tile) q41() {
	MOVQ(b.cols, b.left)
	SHRQ(U8(5), b.left)
	Label(b.name + "group")
	b.groupScales(func(v int, scale, offset reg.VecVirtual) {
		VCVTPH2PS(b.behind(b.w, nibbleBytes, 2, v), scale)
		VCVTPH2PS(b.behind(b.w, nibbleBytes+64, 2, v), offset)
	})
	b.nibbles(VFMADD213PS, VADDPS)
	b.prefetch(0)
	b.prefetch(64)
	ADDQ(U32(128), b.w)
	DECQ(b.left)
	JNZ(LabelRef(b.name + "group"))
}

func (b *tile) q4k() {
	b.eachBlock(4*32, func() {
		b.groupScales(func(v int, scale, offset reg.VecVirtual) {
			head := b.vector("x", 0)
			VPMOVZXBD(b.behind(b.w, nibbleBytes, 1, v), scale)
			VCVTDQ2PS(scale, scale)
			VCVTPH2PS(b.behind(b.scales, 0, 2, v), head)
			VMULPS(head, scale, scale)
			VPMOVZXBD(b.behind(b.w, nibbleBytes+32, 1, v), offset)
			VCVTDQ2PS(offset, offset)
			VCVTPH2PS(b.behind(b.scales, 64, 2, v), head)
			VMULPS(head, offset, offset)
		})
		b.nibbles(VFMSUB213PS, VSUBPS)
		b.prefetch(0)
		ADDQ(U8(64), b.w)
	})
}

// and is the bitwise and with what is in memory.
func (b *tile) and(m Mem, w reg.Register) {
	if b.wide {
		VPANDD(m, w, w)
	} else {
		VPAND(m, w, w)
	}
}

// nibbles are the columns of a group. fused is (value, scale, offset), plain the
// same after the product.
func (b *tile) nibbles(fused func(...Op), plain func(...Op)) {
	columns := func(value func(i int, w reg.VecVirtual)) {
		for i := range 4 {
			var weights []reg.VecVirtual
			for v := range b.vectors {
				w := b.vector("w", v)
				VMOVUPS(at(b.w, b.width()*v), w)
				VPSHUFB(takeByte(i), w, w)
				value(i, w)
				VCVTDQ2PS(w, w)
				if b.wide {
					fused(b.vector("correction", v), b.vector("scale", v), w)
				} else {
					VMULPS(b.local.Offset(32*v), w, w)
					plain(b.local.Offset(32*(4+v)), w, w)
				}
				weights = append(weights, w)
			}
			b.column(i, weights)
		}
	}
	b.steps("l", 4, func() {
		b.prefetch(0)
		b.prefetch(64)
		columns(func(_ int, w reg.VecVirtual) { b.and(constant(lower, repeated(0x0f)...), w) })
	})
	SUBQ(U32(nibbleBytes), b.w)
	b.steps("u", 4, func() { columns(func(_ int, w reg.VecVirtual) { VPSRLD(U8(4), w, w) }) })
}

// q6k takes the 16 columns of one scale and then those of the other, eight at a
// time, whose upper bits are together. The weight is value*scale, rounded once.
func (b *tile) q6k() {
	b.eachBlock(2*32, func() {
		for half, name := range []string{"l", "u"} {
			b.groupScales(func(v int, scale, offset reg.VecVirtual) {
				VPMOVSXBD(b.behind(b.w, q6kScales+32*half, 1, v), scale)
				VCVTDQ2PS(scale, scale)
				VCVTPH2PS(b.behind(b.scales, 0, 2, v), offset)
				VMULPS(offset, scale, scale)
			})
			MOVQ(U32(2), b.count)
			Label(b.name + name)
			for column := range 8 {
				b.sixBits(half, column)
			}
			if half == 0 {
				for line := 0; line < q6kPart; line += 64 {
					b.prefetch(line)
				}
			}
			ADDQ(U32(q6kPart), b.w)
			ADDQ(U32(uint32(4*8*b.tokens)), b.x)
			DECQ(b.count)
			JNZ(LabelRef(b.name + name))
			if half == 0 {
				SUBQ(U32(q6kScales), b.w)
			}
		}
		b.prefetch(0)
		ADDQ(U8(64), b.w)
	})
}

// sixBits is a column of eight of a half of a group.
func (b *tile) sixBits(half, column int) {
	var weights []reg.VecVirtual
	step := column / 4
	for v := range b.vectors {
		w, upper := b.vector("w", v), b.vector("x", 0)
		VMOVUPS(at(b.w, 128*step+b.width()*v), w)
		VPSHUFB(takeByte(column%4), w, w)
		if half == 0 {
			b.and(constant(lower, repeated(0x0f)...), w)
		} else {
			VPSRLD(U8(4), w, w)
		}
		VMOVUPS(at(b.w, 256+b.width()*v), upper)
		VPSHUFB(takeByte(column%4), upper, upper)
		switch shift := 4 - 4*step - 2*half; {
		case shift > 0:
			VPSLLD(U8(shift), upper, upper)
		case shift < 0:
			VPSRLD(U8(-shift), upper, upper)
		}
		b.and(constant("upperBits", repeated(0x30)...), upper)
		VPADDD(upper, w, w)
		VPSUBD(constant("offsetQ6", repeated(0x20)...), w, w)
		VCVTDQ2PS(w, w)
		if b.wide {
			VMULPS(b.vector("scale", v), w, w)
		} else {
			VMULPS(b.local.Offset(32*v), w, w)
		}
		weights = append(weights, w)
	}
	b.column(column, weights)
}
