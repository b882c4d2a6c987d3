package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// blockForm is a form of panel with minimums or with scales in two steps. What
// stands where is said by form.go of the kernels.
type blockForm struct {
	name   string
	blocks bool // of eight groups, with a head
	head   int  // bytes of it
	group  int  // bytes of a group
	fetch  int  // bytes to be asked for a group, a share of the head included
}

// Where in a group the scales stand.
const (
	nibbleBytes = 4 * 32 * 4
	q6kPart     = 3 * 32 * 4
	q6kScales   = 2 * q6kPart
)

var blockForms = []blockForm{
	{"Q41", false, 0, nibbleBytes + 4*32, nibbleBytes + 4*32},
	{"Q4K", true, 4 * 32, nibbleBytes + 2*32, nibbleBytes + 2*32 + 16},
	{"Q6K", true, 2 * 32, q6kScales + 2*32, q6kScales + 2*32 + 8},
}

// kquant writes products of panels of these forms, with quantised activations
// and with those of float32.
func blocks() {
	for _, f := range blockForms {
		for tokens := 1; tokens <= intTile; tokens++ {
			intBlocksAVX512(f, tokens)
		}
		for tokens := 1; tokens <= intTileAVX2; tokens++ {
			intBlocksAVX2(f, tokens)
		}
	}
}

// blockKernel is an integer kernel for so many tokens.
type blockKernel struct {
	*intKernel
	form        blockForm
	head, inner reg.GPVirtual // of the block under way
	fetches     *blockFetcher
}

func newBlockKernel(level string, f blockForm, tokens int) *blockKernel {
	name := fmt.Sprintf("int%sx%d%s", f.name, tokens, level)
	// Not NOSPLIT: the frame of the larger ones would be too much for it.
	TEXT(name, 0, "func(w, x *byte, y *float32, groups, ldy, add, ahead, every int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies one panel with a tile of %d tokens; see IntGemm.", name, tokens))
	k := &blockKernel{intKernel: &intKernel{tokens: tokens}, form: f, head: GP64(), inner: GP64()}
	k.w, k.x, k.y, k.groups = parameter("w"), parameter("x"), parameter("y"), parameter("groups")
	k.ldy = parameter("ldy")
	SHLQ(U8(2), k.ldy) // in bytes
	k.fetches = newBlockFetcher(k)
	return k
}

// loop repeats a body for each group; enter is called for each block.
func (k *blockKernel) loop(label string, enter, body func()) {
	Label(label)
	if k.form.blocks {
		MOVQ(k.w, k.head)
		enter()
		ADDQ(U32(uint32(k.form.head)), k.w)
		MOVQ(U32(8), k.inner)
		Label(label + "part")
	}
	k.fetches.begin()
	body()
	ADDQ(U32(uint32(k.form.group)), k.w)
	ADDQ(U32(uint32(40*k.tokens)), k.x)
	if k.form.blocks {
		DECQ(k.inner)
		JNZ(LabelRef(label + "part"))
		SUBQ(U8(8), k.groups)
	} else {
		DECQ(k.groups)
	}
	JNZ(LabelRef(label))
}

// blockFetcher asks for the lines of a later group: every n-th group, n being
// the tiles that share the work.
type blockFetcher struct {
	w               reg.Register
	at, every, left reg.GPVirtual
	line, bytes     int
	off             bool
}

func newBlockFetcher(k *blockKernel) *blockFetcher {
	f := &blockFetcher{w: k.w, at: GP64(), every: parameter("every"), left: GP64(), bytes: k.form.fetch}
	MOVQ(parameter("ahead"), f.at)
	ADDQ(k.w, f.at)
	MOVQ(f.every, f.left)
	return f
}

// begin is called at the begin of a group.
func (f *blockFetcher) begin() {
	if f.line = 0; !f.off {
		DECQ(f.left)
	}
}

// fetch asks for a share of the lines, step i of so many: they are spread over
// the steps of a group, for the processor has few buffers for what is under way.
func (f *blockFetcher) fetch(i, steps int) {
	if f.off {
		return
	}
	lines := (f.bytes + 63) / 64
	skip := fmt.Sprintf("fetched%d", i)
	TESTQ(f.left, f.left)
	JNZ(LabelRef(skip))
	for ; f.line < (lines*(i+1)+steps-1)/steps && f.line < lines; f.line++ {
		PREFETCHT1(at(f.at, 64*f.line))
		PREFETCHT0(at(f.w, near+64*f.line))
	}
	if i == steps-1 {
		ADDQ(U32(uint32(f.bytes)), f.at)
		MOVQ(f.every, f.left)
	}
	Label(skip)
}
