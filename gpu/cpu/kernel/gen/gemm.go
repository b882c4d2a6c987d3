package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm writes the products of a panel with a tile of tokens whose activations
// are float32: one kernel for each form and level, with a body for each number
// of tokens.
func gemm() {
	for _, wide := range []bool{true, false} {
		for _, f := range gemmForms {
			product(f, wide)
		}
		for _, f := range blockForms {
			product(gemmForm{f.name, 64, f.group, f.exact}, wide)
		}
	}
	transpose()
	eachLevel(widenPairs)
}

// gemmForm is a form of panel.
type gemmForm struct {
	name  string
	half  int // bytes from row 0 to row 16 of the same column
	group int // bytes of a group of columns with its scales, 0: no scales
	body  func(*tile)
}

var gemmForms = []gemmForm{
	{"F32", 64, 0, (*tile).f32},
	{"BF16", 64, 0, (*tile).bf16},
	{"F16", 32, 0, (*tile).f16},
	{"Q8", 64, 8*128 + 64, (*tile).q8},
	{"Q4", 64, 4*128 + 64, (*tile).q4},
}

// The most tokens of a tile: with two vectors of weights each of them has two
// accumulators, which leaves 8 of 32 registers and 4 of 16.
const (
	tokensAVX512 = 12
	tokensAVX2   = 6
)

// tile is a body: so many tokens times the rows of a pass. With AVX-512 a pass
// is the whole panel, two vectors; with AVX2 it is that for one token, four
// vectors, and for more a half of it.
type tile struct {
	wide    bool
	name    string // a prefix of labels
	tokens  int
	vectors int
	upper   bool // the second half of the panel

	w, x   reg.GPVirtual // as far as they were read
	left   reg.GPVirtual // columns, or groups, to come
	ahead  reg.GPVirtual
	cols   reg.GPVirtual
	scales reg.GPVirtual // of the group under way
	row    reg.GPVirtual // of y
	count  reg.GPVirtual
	acc    [][]reg.VecVirtual // [token][vector]
	local  Mem                // scales and corrections of a group, without registers for them
	named  map[string]reg.VecVirtual
}

// product is y[t*ldy+r] = (y or 0) + sum over c of w[r,c]*x[c,t].
func product(f gemmForm, wide bool) {
	name, most := "gemm"+f.name+"AVX2", tokensAVX2
	if wide {
		name, most = "gemm"+f.name+"AVX512", tokensAVX512
	}
	function(name, "func(panel *byte, cols int, x *float32, tokens int, y *float32, ldy int, add int, ahead int)",
		fmt.Sprintf("%s multiplies a panel with a tile of 1 to %d tokens.", name, most))
	var local Mem
	if !wide && f.group > 0 {
		local = AllocLocal(2 * 4 * 32)
	}
	panel, cols, x, tokens := parameter("panel"), parameter("cols"), parameter("x"), parameter("tokens")
	y, ldy, add, ahead := parameter("y"), parameter("ldy"), parameter("add"), parameter("ahead")
	SHLQ(U8(2), ldy)
	all := tile{
		wide: wide, cols: cols, ahead: ahead, local: local, named: map[string]reg.VecVirtual{},
		w: GP64(), x: GP64(), left: GP64(), scales: GP64(), row: GP64(), count: GP64(),
	}
	for t := most; t > 1; t-- {
		CMPQ(tokens, U8(t))
		JEQ(LabelRef(fmt.Sprintf("t%d", t)))
	}
	for t := 1; t <= most; t++ {
		b := all
		b.name, b.tokens, b.vectors = fmt.Sprintf("t%d", t), t, 2
		if !wide && t == 1 {
			b.vectors = 4
		}
		Label(b.name)
		pass := func() {
			MOVQ(panel, b.w)
			MOVQ(x, b.x)
			if f.group > 0 {
				LEAQ(at(panel, f.group-64), b.scales)
			}
		}
		pass()
		b.begin(y, ldy, add)
		f.body(&b)
		b.store(y, ldy)
		if !wide && t > 1 {
			b.name, b.upper = b.name+"upper", true
			ADDQ(U8(64), y)
			pass()
			ADDQ(U8(f.half), b.w)
			if f.group > 0 {
				ADDQ(U8(32), b.scales)
			}
			b.begin(y, ldy, add)
			f.body(&b)
			b.store(y, ldy)
		}
		end()
	}
}

func (b *tile) width() int {
	if b.wide {
		return 64
	}
	return 32
}

// vector is the register of a name and number. All bodies of a kernel share
// them: avo's time grows with the square of their number.
func (b *tile) vector(name string, i int) reg.VecVirtual {
	name = fmt.Sprint(name, i)
	v, ok := b.named[name]
	if !ok {
		v = YMM()
		if b.wide {
			v = ZMM()
		}
		b.named[name] = v
	}
	return v
}

// begin zeroes the accumulators or takes them from y.
func (b *tile) begin(y, ldy, add reg.GPVirtual) {
	b.acc = make([][]reg.VecVirtual, b.tokens)
	for t := range b.acc {
		for v := range b.vectors {
			acc := b.vector("acc", t*b.vectors+v)
			clearVector(b.wide, acc)
			b.acc[t] = append(b.acc[t], acc)
		}
	}
	TESTQ(add, add)
	JZ(LabelRef(b.name + "begun"))
	b.eachRow(y, ldy, func(m Mem, acc reg.VecVirtual) { VMOVUPS(m, acc) })
	Label(b.name + "begun")
}

func (b *tile) store(y, ldy reg.GPVirtual) {
	b.eachRow(y, ldy, func(m Mem, acc reg.VecVirtual) { VMOVUPS(acc, m) })
}

func (b *tile) eachRow(y, ldy reg.GPVirtual, do func(Mem, reg.VecVirtual)) {
	MOVQ(y, b.row)
	for t := range b.acc {
		for v, acc := range b.acc[t] {
			do(at(b.row, b.width()*v), acc)
		}
		if t < b.tokens-1 {
			ADDQ(ldy, b.row)
		}
	}
}

// column multiplies one column of weights with that of each token, so many
// columns behind x.
func (b *tile) column(column int, weights []reg.VecVirtual) {
	for t := range b.acc {
		x := b.vector("x", 0)
		VBROADCASTSS(at(b.x, 4*(column*b.tokens+t)), x)
		for v, w := range weights {
			VFMADD231PS(w, x, b.acc[t][v])
		}
	}
}

// prefetch asks for a line of weights to come. T1, not NTA: the latter halves
// what this reaches.
func (b *tile) prefetch(disp int) {
	PREFETCHT1(Mem{Base: b.w, Index: b.ahead, Scale: 1, Disp: disp})
	PREFETCHT0(at(b.w, near+disp))
}

// loop repeats a body of so many columns, then one of a single column for the
// rest of left.
func (b *tile) loop(columns int, body, rest func()) {
	SUBQ(U8(columns), b.left)
	JLT(LabelRef(b.name + "rest"))
	Label(b.name + "loop")
	body()
	SUBQ(U8(columns), b.left)
	JGE(LabelRef(b.name + "loop"))
	Label(b.name + "rest")
	ADDQ(U8(columns), b.left)
	JZ(LabelRef(b.name + "done"))
	Label(b.name + "one")
	rest()
	DECQ(b.left)
	JNZ(LabelRef(b.name + "one"))
	Label(b.name + "done")
}
