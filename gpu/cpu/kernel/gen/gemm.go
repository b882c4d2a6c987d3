package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// gemm writes the products of a panel with a tile of float32 activations. Quantised weights
// are converted first, some columns at a time into memory that stays in the L1 cache: so
// all forms share one product, and the conversion can use all registers.
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
func (v lanes) tileTokens() int { return either(v, 12, 6) }

// tile is a body of a product for one number of tokens. A pass over the panel multiplies
// as many rows as there are vectors of weights.
type tile struct {
	lanes
	name    string // prefix of labels
	tokens  int
	vectors int
	first   register // the first row of the pass; nil: always 0

	w, x  gpr // the next weights and activations
	ahead gpr // prefetch distance of weights
	named map[string]vec
}

// vector is the register of a name and number. All bodies of a kernel share them:
// avo's time grows with the square of their number.
func (b *tile) vector(name string, i int) vec {
	name = fmt.Sprint(name, i)
	if _, ok := b.named[name]; !ok {
		b.named[name] = b.reg()
	}
	return b.named[name]
}

// rows is the memory of a vector of rows, rowBytes each. Row 0 is disp bytes after base.
func (b *tile) rows(base register, disp, rowBytes, vector int) Mem {
	m := at(base, disp+rowBytes*b.n()*vector)
	if b.first != nil {
		m.Index, m.Scale = b.first, uint8(rowBytes)
	}
	return m
}

// sum is the register of the sum of a token and a vector of rows.
func (b *tile) sum(token, vector int) vec {
	return b.vector("sum", token*b.vectors+vector)
}

// eachSum calls do for the registers of sums and their memory in y; row is scratch.
func (b *tile) eachSum(row gpr, do func(Mem, vec)) {
	ldy := GP64()
	reload("y", row)
	reload("ldy", ldy)
	for t := range b.tokens {
		for v := range b.vectors {
			do(b.rows(row, 0, 4, v), b.sum(t, v))
		}
		if t < b.tokens-1 {
			LEAQ(Mem{Base: row, Index: ldy, Scale: 4}, row)
		}
	}
}

// loadSums sets the sums in registers to zero or to y; row is scratch.
func (b *tile) loadSums(row gpr) {
	for i := range b.tokens * b.vectors {
		b.clear(b.vector("sum", i))
	}
	CMPQ(argument("add"), U8(0))
	JEQ(LabelRef(b.name + "begun"))
	b.eachSum(row, func(m Mem, sum vec) { VMOVUPS(m, sum) })
	Label(b.name + "begun")
}

func (b *tile) storeSums(row gpr) {
	b.eachSum(row, func(m Mem, sum vec) { VMOVUPS(sum, m) })
}

// firstPass begins the passes over a panel, if they are several.
func (b *tile) firstPass() (several bool) {
	if b.vectors*b.n() == 32 {
		return false
	}
	first := GP64()
	XORQ(first, first)
	b.first = first
	Label(b.name + "pass")
	return true
}

func (b *tile) nextPass() {
	ADDQ(U8(b.vectors*b.n()), b.first)
	CMPQ(b.first, U8(32))
	JNE(LabelRef(b.name + "pass"))
}

type floatTile struct {
	tile
	left gpr // remaining columns
}

// direct writes the kernel for panels of floats, with one body for each number of
// tokens: y[t*ldy+r] = (y or 0) + sum over c of w[r,c]*x[c,t]. Forms are numbered as
// in package layout and differ in the loop over columns only.
func direct(v lanes) {
	most := v.tileTokens()
	v.function("gemmFloats", "func(form int, panel *byte, cols int, x *float32, tokens int, y *float32, ldy int, add int, ahead int)",
		fmt.Sprintf("multiplies a panel with a tile of 1 to %d tokens.", most))
	all := floatTile{tile: tile{lanes: v, named: map[string]vec{}, w: GP64(), x: GP64()}, left: GP64()}
	all.ahead = GP64()
	dispatch(argument("tokens"), 1, most, "t")
	for t := 1; t <= most; t++ {
		b := all
		b.name, b.tokens, b.vectors = fmt.Sprintf("t%d", t), t, 32/v.n()
		if !v.wide && t > 2 {
			b.vectors = 2
		}
		Label(b.name)
		several := b.firstPass()
		b.loadSums(GP64())
		reload("panel", b.w)
		reload("x", b.x)
		reload("ahead", b.ahead)
		reload("cols", b.left)
		cases([]int{0, 1, 2}, func(i int) string { return b.name + floatForms[i].name }, b.name+"sums", func(i int) {
			form := b
			form.name += floatForms[i].name
			floatForms[i].body(&form)
		})
		b.storeSums(GP64())
		if several {
			b.nextPass()
		}
		end()
	}
}

// column multiplies a column, counted from the next one, by each token's activations.
func (b *floatTile) column(column int, weights []vec) {
	for t := range b.tokens {
		x := b.vector("x", 0)
		VBROADCASTSS(at(b.x, 4*(column*b.tokens+t)), x)
		for v, w := range weights {
			VFMADD231PS(w, x, b.sum(t, v))
		}
	}
}

// advance moves on by columns that take bytes of weights.
func (b *floatTile) advance(columns, bytes int) {
	ADDQ(U32(bytes), b.w)
	ADDQ(U32(4*b.tokens*columns), b.x)
}

// fetchLines prefetches lines of weights. T1, not NTA, with which reading is slower.
func (b *tile) fetchLines(disp, bytes int) {
	for end := disp + bytes; disp < end; disp += 64 {
		PREFETCHT1(Mem{Base: b.w, Index: b.ahead, Scale: 1, Disp: disp})
		PREFETCHT0(at(b.w, near+disp))
	}
}

// unrolled repeats a body of several columns, then jumps to done or has the rest in left.
func (b *floatTile) unrolled(columns int, body func()) {
	SUBQ(U8(columns), b.left)
	JLT(LabelRef(b.name + "rest"))
	Label(b.name + "loop")
	body()
	SUBQ(U8(columns), b.left)
	JGE(LabelRef(b.name + "loop"))
	Label(b.name + "rest")
	ADDQ(U8(columns), b.left)
	JZ(LabelRef(b.name + "done"))
}
