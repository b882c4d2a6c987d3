package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Attention works on blocks of 64 positions. Each 16 of them are a run of memory: of keys
// [dimension][16], of values [16][head_dim].
const (
	runSlots   = 16
	blockBytes = 4 * 64 // a row of scores or weights of a block
	runEntry   = 16     // of the table of runs: int64 at, int64 ahead
)

// kvForms are the types of keys and values, as package attn orders them, and their bytes.
var kvForms = []struct {
	name  string
	bytes int
}{{"F32", 4}, {"BF16", 2}, {"F16", 2}, {"I8", 1}}

// attention writes the products of queries with keys and of weights with values,
// and the softmax between them.
func attention() {
	exp := newExpTable("attentionExp")
	tail := newTailTable("attentionTail")
	numbers := make([]U32, 64)
	for i := range numbers {
		numbers[i] = U32(i)
	}
	lanesTable := table("attentionLanes", numbers)
	eachLevel(func(v lanes) {
		scores(v)
		values(v)
		softmax(v, exp, lanesTable)
		scaleAdd(v, tail)
		scale(v, tail)
	})
}

// maxRows is the number of queries that share a load of keys or values: that many
// times two vectors of sums fit the registers. Seven at AVX2 leave one register for
// loads, so the two halves are loaded one after the other.
func (v lanes) maxRows() int {
	if v.wide {
		return 12
	}
	return 7
}

// attentionRows is a body for one number of rows: queries of scores, or weights of
// values. Their sums are two vectors a row.
type attentionRows struct {
	lanes
	rows  int
	sums  [2][]reg.VecVirtual
	x, y  reg.VecVirtual // loaded keys or values
	n     reg.VecVirtual // a row's number
	label func(string) string
}

// eachRows writes a body for each number of rows and the jumps to it.
func (v lanes) eachRows(body func(attentionRows)) {
	all := attentionRows{lanes: v, x: v.reg(), y: v.reg(), n: v.reg()}
	all.sums = [2][]reg.VecVirtual{v.regs(v.maxRows()), v.regs(v.maxRows())}
	dispatch(argument("rows"), 1, v.maxRows(), "rows")
	for rows := 1; rows <= v.maxRows(); rows++ {
		b := all
		b.rows = rows
		b.sums = [2][]reg.VecVirtual{all.sums[0][:rows], all.sums[1][:rows]}
		b.label = func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
		Label(b.label("rows"))
		body(b)
		end()
	}
}

// eachForm writes a body for each type of elements and its jumps; all end at one place.
func (b attentionRows) eachForm(label string, body func(form string, bytes int, label func(string) string)) {
	name := func(i int, s string) string { return b.label(fmt.Sprintf("%s%dof", s, i)) }
	cases([]int{0, 1, 2, 3}, func(i int) string { return name(i, label) }, b.label(label+"done"), func(i int) {
		body(kvForms[i].name, kvForms[i].bytes, func(s string) string { return name(i, s) })
	})
}

// multiply adds the two loaded vectors times each row's number to the row's sums.
func (b attentionRows) multiply(load func(half int, r reg.VecVirtual), number func(row int) Mem) {
	if !b.wide && b.rows == b.maxRows() { // one register for what is loaded
		for half := range b.sums {
			load(half, b.x)
			for r, sum := range b.sums[half] {
				VBROADCASTSS(number(r), b.n)
				VFMADD231PS(b.x, b.n, sum)
			}
		}
		return
	}
	load(0, b.x)
	load(1, b.y)
	for r := range b.rows {
		VBROADCASTSS(number(r), b.n)
		VFMADD231PS(b.x, b.n, b.sums[0][r])
		VFMADD231PS(b.y, b.n, b.sums[1][r])
	}
}

// rowAddresses are pointers to rows 0, 3, 6, 9; an index register reaches rows 0 to 11.
type rowAddresses struct {
	bases  []reg.GPVirtual
	stride reg.GPVirtual
}

func newRowAddresses(rows int, stride reg.GPVirtual) rowAddresses {
	a := rowAddresses{stride: stride}
	for i := 0; i == 0 || i < rows; i += 3 {
		a.bases = append(a.bases, GP64())
	}
	return a
}

// from sets the bases: row 0 is an argument.
func (a rowAddresses) from(name string) {
	reload(name, a.bases[0])
	for i := 1; i < len(a.bases); i++ {
		LEAQ(Mem{Base: a.bases[i-1], Index: a.stride, Scale: 2}, a.bases[i])
		ADDQ(a.stride, a.bases[i])
	}
}

func (a rowAddresses) row(i, disp int) Mem {
	m := Mem{Base: a.bases[i/3], Disp: disp}
	if i%3 > 0 {
		m.Index, m.Scale = a.stride, uint8(i%3)
	}
	return m
}

func (a rowAddresses) advance(bytes int) {
	for _, b := range a.bases {
		ADDQ(U8(bytes), b)
	}
}

// scores is q.k for some queries and the positions of some runs: positions in
// lanes, summed over dimensions in order. A vector of keys is loaded once for all
// queries. AVX-512 takes two runs at a time, AVX2 the halves of one.
func scores(v lanes) {
	v.function("scores", "func(form int, q *float32, ldq int, rows int, keys *byte, runs *int, count int, dim int, out *float32)",
		"multiplies rows of q, ldq bytes apart, with the keys of count runs (an even number): out[r][16i+j], rows 256 bytes apart.")
	v.eachRows(func(b attentionRows) {
		ldq, runs, out, count, dim := GP64(), GP64(), GP64(), GP64(), GP64()
		reload("ldq", ldq)
		reload("runs", runs)
		reload("out", out)
		reload("count", count)
		q := newRowAddresses(b.rows, ldq)
		parts := []reg.GPVirtual{GP64()} // where keys are loaded from
		ahead := []reg.GPVirtual{GP64()}
		if v.wide {
			parts, ahead = append(parts, GP64()), append(ahead, GP64())
		}

		Label(b.label("runs"))
		for i := range parts {
			MOVQ(at(runs, runEntry*i), parts[i])
			ADDQ(argument("keys"), parts[i])
			MOVQ(at(runs, runEntry*i+8), ahead[i])
			ADDQ(argument("keys"), ahead[i])
		}
		q.from("q")
		for _, half := range b.sums {
			for _, s := range half {
				VXORPS(s.AsX(), s.AsX(), s.AsX())
			}
		}
		reload("dim", dim)
		b.eachForm("dims", func(form string, bytes int, label func(string) string) {
			scoresOverDims(b, form, runSlots*bytes, q, parts, ahead, dim, label)
		})
		for r := range b.rows {
			VMOVUPS(b.sums[0][r], at(out, blockBytes*r))
			VMOVUPS(b.sums[1][r], at(out, blockBytes*r+v.bytes()))
		}
		ADDQ(U32(2*v.bytes()), out)
		ADDQ(U32(runEntry*len(parts)), runs)
		SUBQ(U8(len(parts)), count)
		JNZ(LabelRef(b.label("runs")))
	})
}

// scoresOverDims adds up over the dimensions; column is the bytes of one in a run.
// With few rows a cache line of keys is unrolled; with more a single dimension is
// enough work for an iteration.
func scoresOverDims(b attentionRows, form string, column int, q rowAddresses, parts, ahead []reg.GPVirtual, dim reg.GPVirtual, label func(string) string) {
	dimensions := func(n int) {
		for i := range n {
			b.multiply(func(half int, r reg.VecVirtual) {
				if b.wide {
					b.widened(form, at(parts[half], column*i), r)
				} else {
					b.widened(form, at(parts[0], column*i+column/2*half), r)
				}
			}, func(row int) Mem { return q.row(row, 4*i) })
		}
		q.advance(4 * n)
		for _, p := range parts {
			ADDQ(U32(column*n), p)
		}
	}
	fetch := func(bytes int) {
		for _, a := range ahead {
			PREFETCHT0(at(a, 0))
			ADDQ(U8(bytes), a)
		}
	}
	line := 64 / column // dimensions in a line of keys
	if line == 1 || b.rows > fewRows {
		loop(label("dim"), dim, func() {
			fetch(column)
			dimensions(1)
		})
		return
	}
	Label(label("lines"))
	SUBQ(U8(line), dim)
	JLT(LabelRef(label("rest")))
	fetch(64)
	dimensions(line)
	JMP(LabelRef(label("lines")))
	Label(label("rest"))
	ADDQ(U8(line), dim)
	JZ(LabelRef(b.label("dimsdone")))
	loop(label("single"), dim, func() { dimensions(1) })
}

// fewRows is the most rows for which loops of single dimensions are slower (AVX2: 3 %).
const fewRows = 4

// values adds p v for some queries and positions to their sums: dimensions in
// lanes, summed over positions in order. Two vectors of dimensions are taken at a
// time, for all positions.
func values(v lanes) {
	v.function("values", "func(form int, p *float32, rows int, values *byte, runs *int, skip int, n int, groups int, width int, stride int, acc *float32, ldacc int)",
		"adds p[r][i] (rows 256 bytes apart) times value i, of n from position skip of the first run on, to rows of acc, ldacc bytes apart. A value has groups of two vectors, which take width bytes; the next value is stride bytes on.")
	v.eachRows(func(b attentionRows) {
		base, acc, stride := GP64(), GP64(), GP64()
		reload("values", base)
		reload("acc", acc)
		reload("stride", stride)
		runs, p, left, count, from, ahead, a := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
		aheadOf := GP64() // offset of the prefetch in the next run
		XORQ(aheadOf, aheadOf)

		Label(b.label("groups"))
		b.eachSum(acc, a, func(m Mem, s reg.VecVirtual) { VMOVUPS(m, s) })
		reload("p", p)
		reload("runs", runs)
		reload("n", left)
		// The first run starts at position skip.
		skip := a // not in use between loads and stores of sums
		reload("skip", skip)
		MOVQ(skip, from)
		IMULQ(stride, from)
		MOVQ(U32(runSlots), count)
		SUBQ(skip, count)
		Label(b.label("run"))
		CMPQ(count, left)
		CMOVQGT(left, count)
		SUBQ(count, left)
		ADDQ(base, from)
		ADDQ(at(runs, 0), from)
		MOVQ(at(runs, 8), ahead)
		ADDQ(base, ahead)
		ADDQ(aheadOf, ahead)
		b.eachForm("positions", func(form string, bytes int, label func(string) string) {
			width := 2 * v.n() * bytes
			loop(label("position"), count, func() {
				PREFETCHT0(at(ahead, 0))
				if width == 128 {
					PREFETCHT0(at(ahead, 64))
				}
				ADDQ(U8(width), ahead)
				b.multiply(func(half int, r reg.VecVirtual) { v.widened(form, at(from, width/2*half), r) },
					func(row int) Mem { return at(p, blockBytes*row) })
				ADDQ(stride, from)
				ADDQ(U8(4), p)
			})
		})
		ADDQ(U8(runEntry), runs)
		XORQ(from, from)
		MOVQ(U32(runSlots), count)
		TESTQ(left, left)
		JNZ(LabelRef(b.label("run")))

		b.eachSum(acc, a, func(m Mem, s reg.VecVirtual) { VMOVUPS(s, m) })
		ADDQ(U32(2*v.bytes()), acc)
		// base advances by a group, the prefetch by 16 groups.
		reload("width", a)
		ADDQ(a, base)
		IMUL3Q(U8(runSlots-1), a, a)
		ADDQ(a, aheadOf)
		DECQ(argument("groups"))
		JNZ(LabelRef(b.label("groups")))
	})
}

// eachSum calls do for the sums of each row and their memory.
func (b attentionRows) eachSum(acc, row reg.Register, do func(m Mem, s reg.VecVirtual)) {
	MOVQ(acc, row)
	for r := range b.rows {
		do(at(row, 0), b.sums[0][r])
		do(at(row, b.bytes()), b.sums[1][r])
		if r < b.rows-1 {
			ADDQ(argument("ldacc"), row)
		}
	}
}

func scaleAdd(v lanes, tail Mem) {
	v.function("scaleAdd", "func(x, y *float32, a, b float32, n int)", "is x = x a + y b.")
	x, y, n := parameter("x"), parameter("y"), parameter("n")
	a, b := v.parameter("a"), v.parameter("b")
	p, q := v.reg(), v.reg()
	v.each(n, tail, []reg.GPVirtual{x, y}, func(mask reg.Register) {
		v.load(x, mask, p)
		v.load(y, mask, q)
		VMULPS(a, p, p)
		VFMADD231PS(b, q, p)
		v.store(p, mask, x)
	})
	end()
}

func scale(v lanes, tail Mem) {
	v.function("scale", "func(x, out *float32, a float32, n int)", "is out = x a; out may be x.")
	x, out, n := parameter("x"), parameter("out"), parameter("n")
	a, p := v.parameter("a"), v.reg()
	v.each(n, tail, []reg.GPVirtual{x, out}, func(mask reg.Register) {
		v.load(x, mask, p)
		VMULPS(a, p, p)
		v.store(p, mask, out)
	})
	end()
}
