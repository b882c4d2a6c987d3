package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
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
func (v lanes) maxRows() int { return either(v, 12, 7) }

// attentionRows is a body for one number of rows: queries of scores, or weights of
// values. Their sums are two vectors a row.
type attentionRows struct {
	lanes
	rows  int
	sums  [2][]vec
	x, y  vec // loaded keys or values
	n     vec // a row's number
	label func(string) string
}

// eachRows writes a body for each number of rows and the jumps to it.
func (v lanes) eachRows(body func(attentionRows)) {
	all := attentionRows{lanes: v, x: v.reg(), y: v.reg(), n: v.reg()}
	all.sums = [2][]vec{v.regs(v.maxRows()), v.regs(v.maxRows())}
	dispatch(argument("rows"), 1, v.maxRows(), "rows")
	for rows := 1; rows <= v.maxRows(); rows++ {
		b := all
		b.rows = rows
		b.sums = [2][]vec{all.sums[0][:rows], all.sums[1][:rows]}
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
func (b attentionRows) multiply(load func(half int, r vec), number func(row int) Mem) {
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
	bases  []gpr
	stride gpr
}

func newRowAddresses(rows int, stride gpr) rowAddresses {
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

func scaleAdd(v lanes, tail Mem) {
	v.function("scaleAdd", "func(x, y *float32, a, b float32, n int)", "is x = x a + y b.")
	x, y, n := parameter("x"), parameter("y"), parameter("n")
	a, b := v.parameter("a"), v.parameter("b")
	p, q := v.reg(), v.reg()
	v.each(n, tail, []gpr{x, y}, func(mask register) {
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
	v.each(n, tail, []gpr{x, out}, func(mask register) {
		v.load(x, mask, p)
		VMULPS(a, p, p)
		v.store(p, mask, out)
	})
	end()
}
