package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm writes the products of a panel with a tile of tokens whose activations are
// float32. Quantised weights are converted first, a few columns at a time into
// memory that stays in the first cache: one product then serves all forms, and the
// conversion has all registers.
func gemm() {
	eachLevel(func(v lanes) {
		direct(v)
		unpack(v)
	})
	transpose()
	eachLevel(widenPairs)
}

// tileTokens is the largest tile: with two vectors of weights each token has two
// accumulators, which leaves 8 of 32 registers or 4 of 16.
func (v lanes) tileTokens() int {
	if v.wide {
		return 12
	}
	return 6
}

// tile is a body for one number of tokens. A pass multiplies as many rows as there
// are vectors of weights: all 32 of a panel, or 16 with AVX2 and many tokens.
type tile struct {
	lanes
	name    string // prefix of labels
	tokens  int
	vectors int
	first   reg.Register // the first row of the pass; nil: always 0

	w, x  reg.GPVirtual // the next weights and activations
	left  reg.GPVirtual // columns to come
	ahead reg.GPVirtual
	acc   [][]reg.VecVirtual // [token][vector]
	named map[string]reg.VecVirtual
}

// direct writes the kernel for panels of floats, with one body for each number of
// tokens: y[t*ldy+r] = (y or 0) + sum over c of w[r,c]*x[c,t]. Forms are numbered as
// in package layout and differ in the loop over columns only.
func direct(v lanes) {
	most := v.tileTokens()
	v.function("gemmFloats", "func(form int, panel *byte, cols int, x *float32, tokens int, y *float32, ldy int, add int, ahead int)",
		fmt.Sprintf("multiplies a panel with a tile of 1 to %d tokens.", most))
	all := tile{lanes: v, named: map[string]reg.VecVirtual{}, w: GP64(), x: GP64(), left: GP64(), ahead: GP64()}
	dispatch(argument("tokens"), 1, most, "t")
	for t := 1; t <= most; t++ {
		b := all
		b.name, b.tokens, b.vectors = fmt.Sprintf("t%d", t), t, 2
		Label(b.name)
		if !v.wide && t > 2 {
			first := GP64()
			XORQ(first, first)
			b.first = first
			Label(b.name + "pass")
		} else {
			b.vectors = 32 / v.n()
		}
		b.begin()
		reload("panel", b.w)
		reload("x", b.x)
		reload("ahead", b.ahead)
		reload("cols", b.left)
		for i := range floatForms[1:] {
			CMPQ(argument("form"), U8(i+1))
			JEQ(LabelRef(b.name + floatForms[i+1].name))
		}
		for i, f := range floatForms {
			form := b
			form.name += f.name
			Label(form.name)
			f.body(&form)
			if i < len(floatForms)-1 {
				JMP(LabelRef(b.name + "sums"))
			}
		}
		Label(b.name + "sums")
		b.end()
		if b.first != nil {
			b.nextPass()
		}
		end()
	}
}

// nextPass repeats a pass for the rows from 16 on.
func (b *tile) nextPass() {
	ADDQ(U8(16), b.first)
	CMPQ(b.first, U8(32))
	JNE(LabelRef(b.name + "pass"))
}

// dispatch jumps to PREFIXn for a number from lo to hi, by halves.
func dispatch(n Op, lo, hi int, prefix string) {
	if lo == hi {
		JMP(LabelRef(fmt.Sprint(prefix, lo)))
		return
	}
	if hi-lo < 3 {
		for i := hi; i > lo; i-- {
			CMPQ(n, U8(i))
			JEQ(LabelRef(fmt.Sprint(prefix, i)))
		}
		JMP(LabelRef(fmt.Sprint(prefix, lo)))
		return
	}
	middle := (lo + hi + 1) / 2
	upper := fmt.Sprintf("%sfrom%d", prefix, middle)
	CMPQ(n, U8(middle))
	JGE(LabelRef(upper))
	dispatch(n, lo, middle-1, prefix)
	Label(upper)
	dispatch(n, middle, hi, prefix)
}

// vector is the register of a name and number. All bodies of a kernel share them:
// avo's time grows with the square of their number.
func (b *tile) vector(name string, i int) reg.VecVirtual {
	name = fmt.Sprint(name, i)
	v, ok := b.named[name]
	if !ok {
		v = b.reg()
		b.named[name] = v
	}
	return v
}

// rows is the memory of a vector of rows with so many bytes a row, in which row 0
// is disp bytes after base.
func (b *tile) rows(base reg.Register, disp, rowBytes, vector int) Mem {
	m := at(base, disp+rowBytes*b.n()*vector)
	if b.first != nil {
		m.Index, m.Scale = b.first, uint8(rowBytes)
	}
	return m
}

// begin sets the accumulators to zero or to y.
func (b *tile) begin() {
	b.acc = make([][]reg.VecVirtual, b.tokens)
	for t := range b.acc {
		for v := range b.vectors {
			acc := b.vector("acc", t*b.vectors+v)
			clearVector(b.wide, acc)
			b.acc[t] = append(b.acc[t], acc)
		}
	}
	CMPQ(argument("add"), U8(0))
	JEQ(LabelRef(b.name + "begun"))
	b.eachRow(func(m Mem, acc reg.VecVirtual) { VMOVUPS(m, acc) })
	Label(b.name + "begun")
}

// end writes the accumulators to y.
func (b *tile) end() {
	b.eachRow(func(m Mem, acc reg.VecVirtual) { VMOVUPS(acc, m) })
}

func (b *tile) eachRow(do func(Mem, reg.VecVirtual)) {
	row, ldy := GP64(), GP64()
	reload("y", row)
	reload("ldy", ldy)
	for t := range b.acc {
		for v, acc := range b.acc[t] {
			do(b.rows(row, 0, 4, v), acc)
		}
		if t < b.tokens-1 {
			LEAQ(Mem{Base: row, Index: ldy, Scale: 4}, row)
		}
	}
}

// column multiplies a column of weights by the activations of each token. It is
// so many columns after the next one.
func (b *tile) column(column int, weights []reg.VecVirtual) {
	for t := range b.acc {
		x := b.vector("x", 0)
		VBROADCASTSS(at(b.x, 4*(column*b.tokens+t)), x)
		for v, w := range weights {
			VFMADD231PS(w, x, b.acc[t][v])
		}
	}
}

// advance moves on by so many columns.
func (b *tile) advance(columns int) { ADDQ(U32(4*b.tokens*columns), b.x) }

// prefetch prefetches a line of weights. T1, not NTA, with which reading is slower.
func (b *tile) prefetch(disp int) {
	PREFETCHT1(Mem{Base: b.w, Index: b.ahead, Scale: 1, Disp: disp})
	PREFETCHT0(at(b.w, near+disp))
}

// loop repeats a body of so many columns, then one of a single column for the
// remainder of left.
func (b *tile) loop(columns int, body func(columns int)) {
	if columns == 1 {
		Label(b.name + "loop")
		body(1)
		DECQ(b.left)
		JNZ(LabelRef(b.name + "loop"))
		return
	}
	SUBQ(U8(columns), b.left)
	JLT(LabelRef(b.name + "rest"))
	Label(b.name + "loop")
	body(columns)
	SUBQ(U8(columns), b.left)
	JGE(LabelRef(b.name + "loop"))
	Label(b.name + "rest")
	ADDQ(U8(columns), b.left)
	JZ(LabelRef(b.name + "done"))
	Label(b.name + "one")
	body(1)
	DECQ(b.left)
	JNZ(LabelRef(b.name + "one"))
	Label(b.name + "done")
}
