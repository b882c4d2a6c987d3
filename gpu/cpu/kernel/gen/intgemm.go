package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tokens of a tile at most. Sixteen rows of a token take one ZMM of integer
// sums: 24 for twelve tokens, which leaves what weights and activations need.
const intTile = 12

// Up to so many tokens the sums over groups stay in registers, beyond they lie
// on the stack and are touched once a group.
const intTileRegisters = 6

// Bytes of a group of a panel: weights, and the scales of 32 rows behind them.
const (
	q8Weights = 8 * 32 * 4
	q4Weights = 4 * 32 * 4
	scales    = 32 * 2
)

// intgemm writes products of integer panels with quantised activations.
func intgemm() {
	intPeak(true)
	intPeak(false)
	quantizeRow()
	for _, q4 := range []bool{false, true} {
		for tokens := 1; tokens <= intTile; tokens++ {
			intGemmAVX512(q4, tokens)
		}
		for tokens := 1; tokens <= intTileAVX2; tokens++ {
			intGemmAVX2(q4, tokens)
		}
	}
}

// intKernel is a kernel for so many tokens. Of its registers w, x and groups
// move on with the groups.
type intKernel struct {
	tokens               int
	q4                   bool
	w, x, y, groups, ldy reg.GPVirtual
}

func newIntKernel(level string, q4 bool, tokens int) *intKernel {
	form := "Q8"
	if q4 {
		form = "Q4"
	}
	name := fmt.Sprintf("int%sx%d%s", form, tokens, level)
	// Not NOSPLIT: the frame of the larger ones would be too much for it.
	TEXT(name, 0, "func(w, x *byte, y *float32, groups, ldy, add, ahead, every int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies one panel with a tile of %d tokens; see IntGemm.", name, tokens))
	k := &intKernel{tokens: tokens, q4: q4}
	k.w, k.x, k.y, k.groups = parameter("w"), parameter("x"), parameter("y"), parameter("groups")
	k.ldy = parameter("ldy")
	SHLQ(U8(2), k.ldy) // in bytes
	return k
}

func (k *intKernel) groupBytes() int {
	if k.q4 {
		return q4Weights + scales
	}
	return q8Weights + scales
}

// Where in a group of activations of a tile things lie.
func (k *intKernel) activation(step, token int) Mem { return at(k.x, 4*(step*k.tokens+token)) }
func (k *intKernel) correction(token int) Mem       { return at(k.x, 4*(8*k.tokens+token)) }
func (k *intKernel) scale(token int) Mem            { return at(k.x, 4*(9*k.tokens+token)) }

// rows calls do for the row of y of each token.
func (k *intKernel) rows(do func(token int, row reg.Register)) {
	row := GP64()
	MOVQ(k.y, row)
	for t := range k.tokens {
		do(t, row)
		if t < k.tokens-1 {
			ADDQ(k.ldy, row)
		}
	}
}

// next goes to the next group.
func (k *intKernel) next() {
	ADDQ(U32(uint32(k.groupBytes())), k.w)
	ADDQ(U32(uint32(40*k.tokens)), k.x)
	DECQ(k.groups)
	JNZ(LabelRef("group"))
}

// fetcher asks for the lines of a later group: every n-th group, n being the
// tiles that share the work. The lines are spread over the steps of a group,
// for the processor has few buffers for what is under way.
type fetcher struct {
	w               reg.Register
	at, every, left reg.GPVirtual
	line, lines     int
}

func (k *intKernel) fetcher() *fetcher {
	f := &fetcher{w: k.w, at: GP64(), every: parameter("every"), left: GP64(), lines: k.groupBytes() / 64}
	MOVQ(parameter("ahead"), f.at)
	ADDQ(k.w, f.at)
	MOVQ(f.every, f.left)
	return f
}

// begin is called at the begin of a group.
func (f *fetcher) begin() {
	f.line = 0
	DECQ(f.left)
}

// fetch asks for so many lines.
func (f *fetcher) fetch(lines int) {
	skip := fmt.Sprintf("fetched%d", f.line)
	TESTQ(f.left, f.left)
	JNZ(LabelRef(skip))
	for range lines {
		PREFETCHT1(at(f.at, 64*f.line))
		PREFETCHT0(at(f.w, near+64*f.line))
		f.line++
	}
	if f.line == f.lines {
		ADDQ(U32(uint32(64*f.lines)), f.at)
		MOVQ(f.every, f.left)
	}
	Label(skip)
}
