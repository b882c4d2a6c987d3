package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Bytes of a group of a panel.
const (
	q8Weights   = 8 * 32 * 4
	q4Weights   = 4 * 32 * 4
	nibbleBytes = q4Weights
	scales      = 32 * 2     // float16 of 32 rows
	q6kPart     = 3 * 32 * 4 // half of the bits of Q6K
	q6kScales   = 2 * q6kPart
)

// intForm is a form of panels of integers, which package layout describes.
type intForm struct {
	name  string
	head  int // bytes of the head of a block of eight groups; 0: no blocks
	group int // bytes of a group
	// constants are words that bodies keep in registers.
	constants []uint32
	body      func(*intKernel)
}

const (
	lowNibbles = 0x0f0f0f0f
	signBits   = 0x80808080
	ones16     = 0x00010001
)

// nibbleForms have one integer sum for each token and vector of rows. They are
// numbered in this order, as in package layout, and share a kernel. The entry Q41 is also
// that of Q4K, whose head, group and scales differ.
var nibbleForms = []intForm{
	{"Q8", 0, q8Weights + scales, []uint32{signBits, ones16}, (*intKernel).q8},
	{"Q4", 0, q4Weights + scales, []uint32{lowNibbles, ones16}, (*intKernel).q4},
	{"Q41", q4kHead, q41Group, []uint32{lowNibbles}, (*intKernel).minimums},
}

const (
	formQ4K  = 3
	q41Group = nibbleBytes + 2*scales
	q4kHead  = 4 * 32
	q4kGroup = nibbleBytes + 2*32
)

// sixBitForms have two integer sums.
var sixBitForms = []intForm{{"Q6K", 2 * 32, q6kScales + 2*32, nil, (*intKernel).sixBits}}

// intgemm writes the quantisation of activations and products of panels with
// quantised activations, with a body for each number of tokens.
func intgemm() {
	quantizeRow()
	eachLevel(func(v lanes) {
		intProduct(v, "intNibbles", nibbleForms)
		intProduct(v, "intSixBits", sixBitForms)
	})
}

// intKernel is a tile of a product of integers. It passes over the panel once for each
// part of its rows: the integer sums of a pass, for all tokens, must fit the registers.
type intKernel struct {
	tile
	form intForm
	half register // first row of the current part of a pass; nil: the pass is not divided

	groups, head, inner, step gpr
	fetchAt, fetchIn          gpr
	stack                     gpr // sums over groups, unless they are in registers
	inRegisters               bool
	wDone, xDone              int  // bytes of the group that w and x are past
	lines                     int  // lines of the group fetched so far
	fetched                   int  // bytes that fetchAt has to move on
	skips                     *int // labels written
}

func intProduct(v lanes, name string, forms []intForm) {
	most := v.tileTokens()
	largeFunction(name+v.suffix(), "func(form int, w, x *byte, y *float32, groups, tokens, ldy, add, ahead, every int)",
		fmt.Sprintf("multiplies a panel with a tile of 1 to %d tokens.", most))
	all := intKernel{
		skips: new(int), stack: GP64(), tile: tile{lanes: v, named: map[string]vec{}, w: GP64(), x: GP64()},
		groups: GP64(), head: GP64(), inner: GP64(), step: GP64(), fetchAt: GP64(), fetchIn: GP64(),
	}
	// Sums, and before them what a body needs.
	LEAQ(AllocLocal(intScratch+128*most+64), all.stack)
	ADDQ(U8(63), all.stack)
	ANDQ(I8(-64), all.stack)
	if len(forms) > 1 {
		all.sizes()
	}
	dispatch(argument("tokens"), 1, most, "t")
	for tokens := 1; tokens <= most; tokens++ {
		k := all
		k.name, k.tokens = fmt.Sprintf("t%d", tokens), tokens
		k.vectors = v.intVectors(forms, tokens)
		k.inRegisters = tokens*k.vectors <= v.intRegisters() && (len(forms) > 1 || k.unrolled())
		k.write(forms)
	}
}

// intScratch is memory on the stack for a body.
const intScratch = 128

// intVectors is the number of vectors of rows of a pass: as many as have registers for
// the integer sums of all tokens.
func (v lanes) intVectors(forms []intForm, tokens int) int {
	if v.wide {
		return 2
	}
	if len(forms) == 1 { // two sums at a time
		tokens *= 2
	}
	switch {
	case tokens <= 2:
		return 4
	case tokens <= 4:
		return 2
	}
	return 1
}

// intRegisters is how many sums over groups have registers besides integer sums.
func (v lanes) intRegisters() int { return either(v, 12, 4) }

func (k *intKernel) write(forms []intForm) {
	Label(k.name)
	reload("w", k.w)
	reload("ahead", k.fetchAt)
	ADDQ(k.w, k.fetchAt)
	reload("every", k.fetchIn)
	several := k.firstPass()
	if several {
		reload("w", k.w)
	}
	k.begin()
	reload("x", k.x)
	reload("groups", k.groups)
	XORQ(k.inner, k.inner)
	order := []int{2, 1, 0}[3-len(forms):]
	cases(order, func(i int) string { return k.name + forms[i].name }, k.name+"sums", func(i int) {
		f := *k
		f.name, f.form = k.name+forms[i].name, forms[i]
		f.eachGroup()
	})
	k.end()
	if several {
		XORQ(k.fetchIn, k.fetchIn) // nothing is fetched again
		k.nextPass()
	}
	end()
}

// sizes writes the sizes that differ between Q41 and Q4K to the stack.
func (k *intKernel) sizes() {
	MOVQ(U32(q41Group), at(k.stack, 0))
	MOVQ(U32(q41Group), at(k.stack, 8))
	CMPQ(argument("form"), U8(formQ4K))
	JNE(LabelRef("sized"))
	MOVQ(U32(q4kGroup), at(k.stack, 0))
	MOVQ(U32(q4kGroup+q4kHead/8), at(k.stack, 8))
	Label("sized")
}

func (k *intKernel) eachGroup() {
	for _, w := range k.form.constants {
		if !k.wide || w == lowNibbles {
			VMOVUPS(word(w), k.constant(w))
		}
	}
	loop(k.name+"group", k.groups, func() {
		k.enterBlock()
		DECQ(k.fetchIn)
		k.form.body(k)
		k.fetchRest()
		if k.twoForms() {
			ADDQ(at(k.stack, 0), k.w)
			if k.wDone > 0 {
				SUBQ(U32(uint32(k.wDone)), k.w)
			}
		} else {
			ADDQ(U32(uint32(k.form.group-k.wDone)), k.w)
		}
		ADDQ(U32(uint32(40*k.tokens-k.xDone)), k.x)
		k.wDone, k.xDone = 0, 0
	})
}

// twoForms reports whether the body is that of Q41 and Q4K.
func (k *intKernel) twoForms() bool { return k.form.name == "Q41" }

// enterBlock skips the head at the start of a block.
func (k *intKernel) enterBlock() {
	if k.form.head == 0 {
		return
	}
	if k.twoForms() {
		CMPQ(argument("form"), U8(formQ4K))
		JNE(LabelRef(k.name + "entered"))
	}
	TESTQ(k.inner, k.inner)
	JNZ(LabelRef(k.name + "within"))
	MOVQ(k.w, k.head)
	ADDQ(U32(uint32(k.form.head)), k.w)
	MOVQ(U32(8), k.inner)
	Label(k.name + "within")
	DECQ(k.inner)
	Label(k.name + "entered")
}

func (k *intKernel) constant(w uint32) vec {
	return k.vector(fmt.Sprintf("constant%x", w), 0)
}

// weights is a vector of rows, disp bytes after the start of the group.
func (k *intKernel) weights(disp, rowBytes, vector int) Mem {
	return k.rows(k.w, disp-k.wDone, rowBytes, vector)
}

// A group of activations has, for each token, in step s the columns 4s to 4s+3, then
// -128 times the sum of all, and their scale.
func (k *intKernel) activation(step, token int) Mem {
	return at(k.x, 4*(step*k.tokens+token)-k.xDone)
}
func (k *intKernel) correction(token int) Mem { return k.activation(8, token) }
func (k *intKernel) scale(token int) Mem      { return k.activation(9, token) }

// unrolled: a loop over steps costs 3 to 6 % at AVX2, 20 % with one token. With
// AVX-512 and more tokens the multipliers are busy longer than the loop takes.
func (k *intKernel) unrolled() bool { return !k.wide || k.tokens <= 4 }

// steps repeats a body, which takes four bytes of each row and one step of activations.
func (k *intKernel) steps(n int, body func(step int)) {
	const bytes = 4 * 32
	if k.unrolled() {
		for i := range n {
			body(i)
		}
		return
	}
	MOVQ(U32(uint32(n)), k.step)
	loop(k.name+"step", k.step, func() {
		body(0)
		ADDQ(U32(bytes), k.w)
		ADDQ(U8(uint8(4*k.tokens)), k.x)
	})
	k.wDone, k.xDone, k.lines = k.wDone+n*bytes, k.xDone+n*4*k.tokens, n*k.lines
}
