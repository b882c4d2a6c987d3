package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes is a level's vector of float32: 16 with AVX-512, 8 with AVX2. Kernels that
// otherwise hardly differ between the two are written once in terms of it.
type lanes struct{ wide bool }

// eachLevel writes a kernel at both levels.
func eachLevel(write func(v lanes)) {
	write(lanes{wide: true})
	write(lanes{})
}

func (v lanes) n() int {
	if v.wide {
		return 16
	}
	return 8
}

func (v lanes) bytes() int { return 4 * v.n() }

// function begins NAMEAVX512 or NAMEAVX2, whose doc follows the name.
func (v lanes) function(name, signature, doc string) {
	name += v.suffix()
	function(name, signature, name+" "+doc)
}

// name begins a function with a large frame, which NOSPLIT does not allow.
func (v lanes) name(name, signature, doc string) {
	name += v.suffix()
	TEXT(name, 0, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
}

func (v lanes) suffix() string {
	if v.wide {
		return "AVX512"
	}
	return "AVX2"
}

func (v lanes) reg() reg.VecVirtual {
	if v.wide {
		return ZMM()
	}
	return YMM()
}

func (v lanes) zero() reg.VecVirtual { return zero(v.wide) }

// parameter broadcasts a float32 argument.
func (v lanes) parameter(name string) reg.VecVirtual {
	r := v.reg()
	a, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(a.Addr, r)
	return r
}

// laneConstants are values in all 16 lanes, 64 bytes each.
type laneConstants map[float32]Mem

// newLaneConstants writes a table; name is unique in the family.
func newLaneConstants(name string, values ...float32) laneConstants {
	c := laneConstants{}
	table := GLOBL(name, NOPTR|RODATA)
	for i, x := range values {
		for lane := range 16 {
			DATA(64*i+4*lane, F32(x))
		}
		c[x] = table.Offset(64 * i)
	}
	return c
}

// mask selects the first lanes of a vector.
type mask struct {
	k reg.OpmaskVirtual // wide
	y reg.VecVirtual    // narrow
}

// newTailTable writes the table for narrow masks: 8 lanes of ones, 8 of zeros.
func newTailTable(name string) Mem {
	table := GLOBL(name, NOPTR|RODATA)
	for i := range 16 {
		lane := uint32(math.MaxUint32)
		if i >= 8 {
			lane = 0
		}
		DATA(4*i, U32(lane))
	}
	return table
}

// first makes a mask of the first n lanes; n is less than all of them.
func (v lanes) first(n reg.Register, table Mem) mask {
	if v.wide {
		bits := GP32()
		MOVQ(n, reg.RCX)
		MOVL(U32(1), bits)
		SHLL(reg.CL, bits)
		DECL(bits)
		k := K()
		KMOVW(bits, k)
		return mask{k: k}
	}
	p := GP64()
	LEAQ(table.Offset(32), p)
	back := GP64()
	MOVQ(n, back)
	SHLQ(U8(2), back)
	SUBQ(back, p)
	y := YMM()
	VMOVDQU(at(p, 0), y)
	return mask{y: y}
}

func (v lanes) loadMasked(m Mem, k mask, r reg.Register) {
	if v.wide {
		VMOVUPS_Z(m, k.k, r)
		return
	}
	VMASKMOVPS(m, k.y, r)
}

func (v lanes) storeMasked(r reg.Register, m Mem, k mask) {
	if v.wide {
		VMOVUPS(r, k.k, m)
		return
	}
	VMASKMOVPS(r, k.y, m)
}

// answer returns lane 0 of r from a kernel.
func answer(r reg.Register, index int) {
	VZEROUPPER() // before the store, which is legacy SSE
	Store(r, ReturnIndex(index))
}

// loader and storer are a load and a store of a whole vector or of its first lanes.
type (
	loader func(from reg.Register, r reg.Register)
	storer func(r reg.Register, to reg.Register)
)

// each takes n elements a vector at a time, the last ones under a mask; masked lanes
// read as 0. It advances the pointers and changes n.
func (v lanes) each(n reg.GPVirtual, table Mem, pointers []reg.GPVirtual, body func(load loader, store storer)) {
	Label("vectors")
	CMPQ(n, U8(v.n()))
	JLT(LabelRef("tail"))
	body(func(from, r reg.Register) { VMOVUPS(at(from, 0), r) }, func(r, to reg.Register) { VMOVUPS(r, at(to, 0)) })
	for _, p := range pointers {
		ADDQ(U8(v.bytes()), p)
	}
	SUBQ(U8(v.n()), n)
	JMP(LabelRef("vectors"))
	Label("tail")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	k := v.first(n, table)
	body(func(from, r reg.Register) { v.loadMasked(at(from, 0), k, r) }, func(r, to reg.Register) { v.storeMasked(r, at(to, 0), k) })
	Label("done")
}

// sum adds the lanes of r, halves first, into lane 0 of what it returns.
func (v lanes) sum(r reg.VecVirtual) reg.Register { return v.fold(r, VADDPS) }

// fold combines the lanes of r by halves: 8 apart, 4, 2, 1.
func (v lanes) fold(r reg.VecVirtual, op func(...Op)) reg.Register {
	if v.wide {
		upper := YMM()
		VEXTRACTF64X4(U8(1), r, upper)
		op(upper, r.AsY(), r.AsY())
	}
	upper := XMM()
	VEXTRACTF128(U8(1), r.AsY(), upper)
	op(upper, r.AsX(), r.AsX())
	VPSHUFD(U8(0b1110), r.AsX(), upper)
	op(upper, r.AsX(), r.AsX())
	VPSHUFD(U8(0b0001), r.AsX(), upper)
	op(upper, r.AsX(), r.AsX())
	return r.AsX()
}
