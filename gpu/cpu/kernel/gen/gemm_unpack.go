package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// columnBytes is the size of a column of float32 of a panel.
const columnBytes = 4 * 32

// unpacker converts groups of 32 columns of quantised weights to columns of 32 float32.
type unpacker struct {
	tile
	head, out     gpr
	scale, offset []vec // of each vector of rows
}

// unpack writes the conversion of each form with scales. It rounds a weight once at most.
func unpack(v lanes) {
	for _, f := range []struct {
		name  string
		group func(*unpacker)
	}{
		{"Q8", (*unpacker).q8},
		{"Q4", (*unpacker).q4},
		{"Q41", (*unpacker).q41},
		{"Q4K", (*unpacker).q4k},
		{"Q6K", (*unpacker).q6k},
	} {
		v.function("unpack"+f.name, "func(w *byte, head *byte, groups int, out *float32, ahead int)",
			"converts groups of 32 columns of a panel; head is that of their block, if any.")
		u := &unpacker{tile: tile{lanes: v, w: parameter("w")}, head: parameter("head"), out: parameter("out")}
		u.ahead = parameter("ahead")
		u.scale, u.offset = v.regs(32/v.n()), v.regs(32/v.n())
		groups := parameter("groups")
		loop("group", groups, func() { f.group(u) })
		end()
	}
}

// store writes vector i of a column, counted from the next one.
func (u *unpacker) store(r register, column, i int) {
	VMOVUPS(r, at(u.out, columnBytes*column+u.bytes()*i))
}

// loop repeats a body, which advances w and out.
func (u *unpacker) loop(label string, n int, body func()) {
	count := GP64()
	MOVQ(U32(n), count)
	loop(label, count, body)
}

// skip goes past the scales of a group.
func (u *unpacker) skip(bytes int) {
	u.fetchLines(0, bytes)
	ADDQ(U32(bytes), u.w)
}

// weight turns a value into scale*value + offset and stores it.
func (u *unpacker) weight(value vec, column, i int) {
	VCVTDQ2PS(value, value)
	VFMADD213PS(u.offset[i], u.scale[i], value)
	u.store(value, column, i)
}

// q8: both products and the sum are exact in float32, as a scale has 11 bits.
func (u *unpacker) q8() {
	u.offsets(q8Weights, 0xc3000000) // -128
	mask, words, value := u.word(0xff), u.regs(len(u.scale)), u.reg()
	u.loop("step", 8, func() {
		u.fetchLines(0, 128)
		for i, w := range words {
			VMOVUPS(u.rows(u.w, 0, 4, i), w)
		}
		for column := range 4 {
			for i, w := range words {
				if column == 0 {
					u.and(mask, w, value)
				} else {
					VPSRLD(U8(8*column), w, value)
					if column < 3 {
						u.and(mask, value, value)
					}
				}
				u.weight(value, column, i)
			}
		}
		ADDQ(U32(128), u.w)
		ADDQ(U32(4*columnBytes), u.out)
	})
	u.skip(scales)
}

// offsets loads a group's scales, disp bytes in; the offsets are scales times a factor.
func (u *unpacker) offsets(disp int, factor uint32) {
	f := u.word(factor)
	for i := range u.scale {
		VCVTPH2PS(u.rows(u.w, disp, 2, i), u.scale[i])
		VMULPS(f, u.scale[i], u.offset[i])
	}
}

// q4 is exact, as q8 is.
func (u *unpacker) q4() {
	u.offsets(q4Weights, 0xc1000000) // -8
	u.nibbles()
	u.skip(scales)
}

// q41: the product is exact, the sum rounded once.
func (u *unpacker) q41() {
	for i := range u.scale {
		VCVTPH2PS(u.rows(u.w, nibbleBytes, 2, i), u.scale[i])
		VCVTPH2PS(u.rows(u.w, nibbleBytes+64, 2, i), u.offset[i])
	}
	u.nibbles()
	u.skip(128)
}

// q4k: scale and minimum are bytes times a float16 of the head. The offset is -minimum.
func (u *unpacker) q4k() {
	h, sign := u.reg(), u.word(0x80000000)
	for i := range u.scale {
		for k, r := range []vec{u.scale[i], u.offset[i]} {
			VPMOVZXBD(u.rows(u.w, nibbleBytes+32*k, 1, i), r)
			u.timesHead(64*k, i, r, h)
		}
		VXORPS(sign, u.offset[i], u.offset[i])
	}
	u.nibbles()
	u.skip(64)
}

// timesHead multiplies integers by float16 of vector i, disp into the head; h is scratch.
func (u *unpacker) timesHead(disp, i int, r, h register) {
	VCVTDQ2PS(r, r)
	VCVTPH2PS(u.rows(u.head, disp, 2, i), h)
	VMULPS(h, r, r)
}

// nibbles are the columns of a group: byte j of a row has column j in its lower
// half and column 16+j in its upper one.
func (u *unpacker) nibbles() {
	mask, words, value := u.word(0x0f), u.regs(len(u.scale)), u.reg()
	u.loop("step", 4, func() {
		u.fetchLines(0, 128)
		for i, w := range words {
			VMOVUPS(u.rows(u.w, 0, 4, i), w)
		}
		u.loop("byte", 4, func() {
			for i, w := range words {
				u.and(mask, w, value)
				u.weight(value, 0, i)
				VPSRLD(U8(4), w, w)
				u.and(mask, w, value)
				u.weight(value, 16, i)
				VPSRLD(U8(4), w, w)
			}
			ADDQ(U32(columnBytes), u.out)
		})
		ADDQ(U32(128), u.w)
	})
	ADDQ(U32(16*columnBytes), u.out)
}

// q6k has two halves of 16 columns with a scale each. Three words of a row hold
// eight columns of each half: two words the lower four bits, those of the first
// half in the lower halves of bytes, one word the upper two bits of all.
func (u *unpacker) q6k() {
	d := u.reg()
	for i := range u.scale {
		for half, s := range []vec{u.scale[i], u.offset[i]} {
			VPMOVSXBD(u.rows(u.w, q6kScales+32*half, 1, i), s)
			u.timesHead(0, i, s, d)
		}
	}
	low, high, thirtyTwo := u.word(0x0f), u.word(0x30), u.word(0x20)
	a, b, upper, value, bits := u.reg(), u.reg(), u.reg(), u.reg(), u.reg()
	u.loop("part", 2, func() {
		u.fetchLines(0, q6kPart)
		for i := range u.scale {
			VMOVUPS(u.rows(u.w, 0, 4, i), a)
			VMOVUPS(u.rows(u.w, 128, 4, i), b)
			VMOVUPS(u.rows(u.w, 256, 4, i), upper)
			u.loop(fmt.Sprint("byte", i), 4, func() {
				for k, from := range []vec{a, a, b, b} {
					u.and(low, from, value)
					VPSRLD(U8(4), from, from)
					moved := bits
					switch k {
					case 0, 1:
						VPSLLD(U8(4-2*k), upper, bits)
					case 2:
						moved = upper
					case 3:
						VPSRLD(U8(2), upper, bits)
					}
					u.and(high, moved, bits)
					u.or(bits, value)
					VPSUBD(thirtyTwo, value, value)
					VCVTDQ2PS(value, value)
					VMULPS([...]register{u.scale[i], u.offset[i]}[k%2], value, value)
					u.store(value, 4*(k/2)+16*(k%2), i)
				}
				VPSRLD(U8(8), upper, upper)
				ADDQ(U32(columnBytes), u.out)
			})
			SUBQ(U32(4*columnBytes), u.out)
		}
		ADDQ(U32(q6kPart), u.w)
		ADDQ(U32(8*columnBytes), u.out)
	})
	u.skip(64)
	ADDQ(U32(16*columnBytes), u.out)
}
