package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes is a level's vector of float32: 16 with AVX-512, 8 with AVX2. Kernels that
// otherwise hardly differ between the two are written once in terms of it.
type lanes struct{ wide bool }

var avx512, avx2 = lanes{wide: true}, lanes{}

func eachLevel(write func(v lanes)) {
	write(avx512)
	write(avx2)
}

// either is what differs between the levels.
func either[T any](v lanes, wide, narrow T) T {
	if v.wide {
		return wide
	}
	return narrow
}

func (v lanes) n() int     { return either(v, 16, 8) }
func (v lanes) bytes() int { return 4 * v.n() }

// function begins NAMEAVX512 or NAMEAVX2, whose doc follows the name.
func (v lanes) function(name, signature, doc string) { function(name+v.suffix(), signature, doc) }

func (v lanes) suffix() string { return either(v, "AVX512", "AVX2") }

func (v lanes) reg() vec { return either(v, ZMM, YMM)() }

func (v lanes) regs(n int) (all []vec) {
	for range n {
		all = append(all, v.reg())
	}
	return all
}

func (v lanes) zero() vec {
	r := v.reg()
	v.clear(r)
	return r
}

func (v lanes) zeros(n int) (all []vec) {
	for range n {
		all = append(all, v.zero())
	}
	return all
}

func (v lanes) clear(r register) {
	if v.wide {
		VPXORD(r, r, r)
	} else {
		VPXOR(r, r, r)
	}
}

// and is r = a & b.
func (v lanes) and(a, b Op, r register) {
	if v.wide {
		VPANDD(a, b, r)
	} else {
		VPAND(a, b, r)
	}
}

// or is r |= a.
func (v lanes) or(a, r register) {
	if v.wide {
		VPORD(a, r, r)
	} else {
		VPOR(a, r, r)
	}
}

// word fills a register with a 32-bit word.
func (v lanes) word(w uint32) vec {
	g, r := GP32(), v.reg()
	MOVL(U32(w), g)
	VMOVD(g, r.AsX())
	VPBROADCASTD(r.AsX(), r)
	return r
}

// upperHalves sets the upper 16 bits of each lane.
func (v lanes) upperHalves(r register) {
	if v.wide {
		VPTERNLOGD(U8(0xff), r, r, r)
	} else {
		VPCMPEQD(r, r, r)
	}
	VPSLLD(U8(16), r, r)
}

// parameter broadcasts a float32 argument.
func (v lanes) parameter(name string) vec {
	r := v.reg()
	VBROADCASTSS(argument(name), r)
	return r
}

// first makes a mask of the first n lanes, fewer than all; table is from newTailTable.
func (v lanes) first(n register, table Mem) (mask register) {
	if v.wide {
		bits := GP32()
		MOVQ(n, reg.RCX)
		MOVL(U32(1), bits)
		SHLL(reg.CL, bits)
		DECL(bits)
		k := K()
		KMOVW(bits, k)
		return k
	}
	p := GP64()
	LEAQ(table.Offset(32), p)
	back := GP64()
	MOVQ(n, back)
	SHLQ(U8(2), back)
	SUBQ(back, p)
	y := YMM()
	VMOVDQU(at(p, 0), y)
	return y
}

// load loads a vector. Under a mask other lanes are zero; nil: no mask.
func (v lanes) load(from, mask, r register) {
	switch {
	case mask == nil:
		VMOVUPS(at(from, 0), r)
	case v.wide:
		VMOVUPS_Z(at(from, 0), mask, r)
	default:
		VMASKMOVPS(at(from, 0), mask, r)
	}
}

// store stores a vector, or its lanes under a mask.
func (v lanes) store(r, mask, to register) {
	switch {
	case mask == nil:
		VMOVUPS(r, at(to, 0))
	case v.wide:
		VMOVUPS(r, mask, at(to, 0))
	default:
		VMASKMOVPS(r, mask, at(to, 0))
	}
}

// each takes n elements by vectors, the last by a mask. It advances pointers and changes n.
func (v lanes) each(n gpr, table Mem, pointers []gpr, body func(mask register)) {
	v.blocks(n, v.n(), "vectors", "tail", pointers, func() { body(nil) })
	Label("tail")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	body(v.first(n, table))
	Label("done")
}

// blocks repeats a body while there are at least block elements, then jumps to label
// rest. It advances the pointers and reduces n.
func (v lanes) blocks(n gpr, block int, label, rest string, pointers []gpr, body func()) {
	Label(label)
	CMPQ(n, U8(block))
	JLT(LabelRef(rest))
	body()
	advance(4*block, pointers...)
	SUBQ(U8(block), n)
	JMP(LabelRef(label))
}

func advance(bytes int, pointers ...gpr) {
	for _, p := range pointers {
		if bytes < 128 {
			ADDQ(U8(bytes), p)
		} else {
			ADDQ(U32(bytes), p)
		}
	}
}

// vectors loops over n elements, whole vectors only.
func (v lanes) vectors(n gpr, body func()) {
	Label("vectors")
	body()
	SUBQ(U8(v.n()), n)
	JNZ(LabelRef("vectors"))
}

// fold combines the lanes of r by halves, 8, 4, 2 and 1 apart, into lane 0 of the result.
func (v lanes) fold(r vec, op func(...Op)) register {
	upper := v.quarter(r, op)
	VPSHUFD(U8(0b1110), r.AsX(), upper)
	op(upper, r.AsX(), r.AsX())
	VPSHUFD(U8(0b0001), r.AsX(), upper)
	op(upper, r.AsX(), r.AsX())
	return r.AsX()
}

// quarter combines the lanes of r into the lowest 128 bits of a register, free again.
func (v lanes) quarter(r vec, op func(...Op)) register {
	if v.wide {
		upper := YMM()
		VEXTRACTF64X4(U8(1), r, upper)
		op(upper, r.AsY(), r.AsY())
	}
	upper := XMM()
	VEXTRACTF128(U8(1), r.AsY(), upper)
	op(upper, r.AsX(), r.AsX())
	return upper
}

// addFour adds four registers in pairs, into the first one.
func addFour(r []vec, add func(...Op)) {
	add(r[1], r[0], r[0])
	add(r[3], r[2], r[2])
	add(r[2], r[0], r[0])
}

// answer returns lane 0 of r from a kernel.
func answer(r register, index int) {
	VZEROUPPER() // before the store, which is legacy SSE
	Store(r, ReturnIndex(index))
	RET()
}
