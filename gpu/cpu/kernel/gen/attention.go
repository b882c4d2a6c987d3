package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Attention works on blocks of 64 positions, of which 16 each lie in a run of
// memory. A run of keys is [dimension][16], a run of values [16][head_dim].
const (
	runSlots   = 16
	blockBytes = 4 * 64 // a row of scores or weights of a block
	runEntry   = 16     // of the table of runs: int64 at, int64 ahead
)

// elementBytes is the size of an element of keys and values.
var elementBytes = map[string]int{"F32": 4, "BF16": 2, "F16": 2, "I8": 1}

// attention writes the products of queries with keys and of weights with
// values, for every form of KV, and what lies between.
func attention() {
	exp := newExpTable("attentionExp")
	tail := newTailTable("attentionTail")
	lanesTable := GLOBL("attentionLanes", NOPTR|RODATA)
	for i := range 64 {
		DATA(4*i, U32(uint32(i)))
	}
	eachLevel(func(v lanes) {
		for _, form := range []string{"F32", "BF16", "F16", "I8"} {
			scores(v, form)
			values(v, form)
		}
		softmax(v, exp, lanesTable)
		scaleAdd(v, tail)
		scale(v, tail)
	})
}

// maxRows is how many queries share what is loaded of keys and values: so many
// times two vectors of sums fit the registers. Seven of AVX2 leave one for what
// is loaded, so that its halves come one after the other.
func (v lanes) maxRows() int {
	if v.wide {
		return 12
	}
	return 7
}

// multiply adds two vectors times each row's number to the row's sums.
func (v lanes) multiply(load func(half int, r reg.VecVirtual), number func(row int) Mem, sums [2][]reg.VecVirtual) {
	rows := len(sums[0])
	x, n := v.reg(), v.reg()
	if !v.wide && rows == v.maxRows() {
		for half := range sums {
			load(half, x)
			for r := range rows {
				VBROADCASTSS(number(r), n)
				VFMADD231PS(x, n, sums[half][r])
			}
		}
		return
	}
	y := v.reg()
	load(0, x)
	load(1, y)
	for r := range rows {
		VBROADCASTSS(number(r), n)
		VFMADD231PS(x, n, sums[0][r])
		VFMADD231PS(y, n, sums[1][r])
	}
}

// eachRows writes a body for each number of rows and the jumps to it.
func (v lanes) eachRows(rows reg.Register, body func(rows int)) {
	for n := 1; n < v.maxRows(); n++ {
		CMPQ(rows, U8(n))
		JEQ(LabelRef(fmt.Sprintf("rows%d", n)))
	}
	for n := v.maxRows(); n >= 1; n-- {
		Label(fmt.Sprintf("rows%d", n))
		body(n)
		end()
	}
}

// reload fetches an argument again into a register that was spent.
func reload(name string, r reg.Register) { Load(Param(name), r) }

// rowAddresses are bases 0, 3, 6 and 9 rows on, from which rows 0 to 11 can be
// reached by an index register.
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
// lanes, summed over dimensions in order. A vector of keys is loaded once for
// all queries. AVX-512 takes two runs at a time, AVX2 the halves of one.
func scores(v lanes, form string) {
	v.function("scores"+form, "func(q *float32, ldq int, rows int, keys *byte, runs *int, count int, dim int, out *float32)",
		"multiplies rows of q, ldq bytes apart, with the keys of count runs (an even number): out[r][16i+j], rows 256 bytes apart.")
	size := elementBytes[form]
	rows := parameter("rows")
	v.eachRows(rows, func(n int) {
		label := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
		ldq, runs, keys, out, count := GP64(), GP64(), GP64(), GP64(), GP64()
		reload("ldq", ldq)
		reload("runs", runs)
		reload("keys", keys)
		reload("out", out)
		reload("count", count)
		q := newRowAddresses(n, ldq)
		var sums [2][]reg.VecVirtual
		for i := range sums {
			for range n {
				sums[i] = append(sums[i], v.reg())
			}
		}
		parts := []reg.GPVirtual{GP64()} // where keys are loaded from
		ahead := []reg.GPVirtual{GP64()}
		if v.wide {
			parts, ahead = append(parts, GP64()), append(ahead, GP64())
		}
		dim := GP64()

		Label(label("runs"))
		for i := range parts {
			MOVQ(at(runs, runEntry*i), parts[i])
			ADDQ(keys, parts[i])
			MOVQ(at(runs, runEntry*i+8), ahead[i])
			ADDQ(keys, ahead[i])
		}
		q.from("q")
		for _, half := range sums {
			for _, s := range half {
				VXORPS(s.AsX(), s.AsX(), s.AsX())
			}
		}
		column := runSlots * size // bytes of a dimension in a run
		// dimensions takes so many; offsets from where the pointers stand.
		dimensions := func(d int) {
			for i := range d {
				v.multiply(func(half int, r reg.VecVirtual) {
					if v.wide {
						v.widened(form, at(parts[half], column*i), r)
					} else {
						v.widened(form, at(parts[0], column*i+column/2*half), r)
					}
				}, func(row int) Mem { return q.row(row, 4*i) }, sums)
			}
			q.advance(4 * d)
			for _, p := range parts {
				ADDQ(U32(column*d), p)
			}
		}
		line := 64 / column // dimensions in a line of keys
		reload("dim", dim)
		if line > 1 {
			Label(label("lines"))
			CMPQ(dim, U8(line))
			JLT(LabelRef(label("rest")))
		} else {
			line = 1
			Label(label("lines"))
		}
		for i := range ahead {
			PREFETCHT0(at(ahead[i], 0))
			ADDQ(U8(64), ahead[i])
		}
		dimensions(line)
		if line > 1 {
			SUBQ(U8(line), dim)
			JMP(LabelRef(label("lines")))
			Label(label("rest"))
			TESTQ(dim, dim)
			JZ(LabelRef(label("store")))
			Label(label("single"))
			dimensions(1)
			DECQ(dim)
			JNZ(LabelRef(label("single")))
			Label(label("store"))
		} else {
			DECQ(dim)
			JNZ(LabelRef(label("lines")))
		}
		for r := range n {
			VMOVUPS(sums[0][r], at(out, blockBytes*r))
			VMOVUPS(sums[1][r], at(out, blockBytes*r+v.bytes()))
		}
		ADDQ(U32(2*v.bytes()), out)
		ADDQ(U32(runEntry*len(parts)), runs)
		SUBQ(U8(len(parts)), count)
		JNZ(LabelRef(label("runs")))
	})
}

// values adds p v for some queries and positions to their sums: dimensions in
// lanes, summed over positions in order. Two vectors of dimensions are taken at
// a time, for all positions.
func values(v lanes, form string) {
	v.function("values"+form, "func(p *float32, rows int, values *byte, runs *int, skip int, n int, groups int, stride int, acc *float32, ldacc int)",
		"adds p[r][i] (rows 256 bytes apart) times value i, of n from position skip of the first run on, to rows of acc, ldacc bytes apart. A value has groups times two vectors, the next one is stride bytes on.")
	width := 2 * v.n() * elementBytes[form] // bytes of a group
	rows := parameter("rows")
	v.eachRows(rows, func(n int) {
		label := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
		base, acc, ldacc, stride := GP64(), GP64(), GP64(), GP64()
		reload("values", base)
		reload("acc", acc)
		reload("ldacc", ldacc)
		reload("stride", stride)
		runs, p, left, count, from, ahead, a := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
		aheadOf := GP64() // how far into a run that is wanted next we are
		XORQ(aheadOf, aheadOf)
		var sums [2][]reg.VecVirtual
		for i := range sums {
			for range n {
				sums[i] = append(sums[i], v.reg())
			}
		}
		eachSum := func(do func(m Mem, s reg.VecVirtual)) {
			MOVQ(acc, a)
			for r := range n {
				do(at(a, 0), sums[0][r])
				do(at(a, v.bytes()), sums[1][r])
				if r < n-1 {
					ADDQ(ldacc, a)
				}
			}
		}

		Label(label("groups"))
		eachSum(func(m Mem, s reg.VecVirtual) { VMOVUPS(m, s) })
		reload("p", p)
		reload("runs", runs)
		reload("n", left)
		// The first run is begun at skip.
		skip := a // not in use between loads and stores of sums
		reload("skip", skip)
		MOVQ(skip, from)
		IMULQ(stride, from)
		MOVQ(U32(runSlots), count)
		SUBQ(skip, count)
		Label(label("run"))
		CMPQ(count, left)
		CMOVQGT(left, count)
		SUBQ(count, left)
		ADDQ(base, from)
		ADDQ(at(runs, 0), from)
		MOVQ(at(runs, 8), ahead)
		ADDQ(base, ahead)
		ADDQ(aheadOf, ahead)
		Label(label("position"))
		PREFETCHT0(at(ahead, 0))
		if width == 128 {
			PREFETCHT0(at(ahead, 64))
		}
		ADDQ(U8(width), ahead)
		v.multiply(func(half int, r reg.VecVirtual) { v.widened(form, at(from, width/2*half), r) },
			func(row int) Mem { return at(p, blockBytes*row) }, sums)
		ADDQ(stride, from)
		ADDQ(U8(4), p)
		DECQ(count)
		JNZ(LabelRef(label("position")))
		ADDQ(U8(runEntry), runs)
		XORQ(from, from)
		MOVQ(U32(runSlots), count)
		TESTQ(left, left)
		JNZ(LabelRef(label("run")))

		eachSum(func(m Mem, s reg.VecVirtual) { VMOVUPS(s, m) })
		ADDQ(U32(2*v.bytes()), acc)
		ADDQ(U32(width), base)
		// base moves on by a group; what is ahead by 16 groups.
		ADDQ(U32(runSlots*width-width), aheadOf)
		groups, err := Param("groups").Resolve()
		if err != nil {
			panic(err)
		}
		DECQ(groups.Addr)
		JNZ(LabelRef(label("groups")))
	})
}
