package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Any register, and the two kinds that avo assigns: general and vector registers.
type (
	register = reg.Register
	gpr      = reg.GPVirtual
	vec      = reg.VecVirtual
)

// function begins a kernel; doc follows the name. Callers' buffers do not escape.
func function(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
}

// largeFunction is function for a large frame, which NOSPLIT does not allow.
func largeFunction(name, signature, doc string) {
	TEXT(name, 0, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
}

// parameter loads a pointer or an int.
func parameter(name string) gpr { return Load(Param(name), GP64()).(gpr) }

func reload(name string, r register) { Load(Param(name), r) }

func argument(name string) Mem {
	a, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}

// end returns from a kernel. Without VZEROUPPER SSE code would be slow afterwards.
func end() {
	VZEROUPPER()
	RET()
}

func at(base register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// near is the prefetch distance in bytes from L2 to L1; prefetches from memory to L2
// have a longer one. With the latter alone a product of one token reads at 91 to
// 96 % of the memory bandwidth, with both at 96 to 99 %. 2 to 6 KiB measured best.
const near = 3 << 10

// loop repeats a body n times, at least once; n ends at 0.
func loop(label string, n Op, body func()) {
	Label(label)
	body()
	DECQ(n)
	JNZ(LabelRef(label))
}

// cases writes a body for each value of the argument form, in the order of values. All
// continue at the label end; the first one is that of all other values.
func cases(values []int, label func(int) string, end string, body func(int)) {
	for _, i := range slices.Sorted(slices.Values(values)) {
		if i != values[0] {
			CMPQ(argument("form"), U8(i))
			JEQ(LabelRef(label(i)))
		}
	}
	for k, i := range values {
		Label(label(i))
		body(i)
		if k < len(values)-1 {
			JMP(LabelRef(end))
		}
	}
	Label(end)
}

// dispatch jumps to PREFIXn for a number from lo to hi, by binary search.
func dispatch(n Op, lo, hi int, prefix string) {
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

// table writes read-only memory; the name is unique in the family.
func table[T Constant](name string, values []T) Mem {
	m, at := GLOBL(name, RODATA|NOPTR), 0
	for _, v := range values {
		DATA(at, v)
		at += v.Bytes()
	}
	return m
}

// constants writes 64 bytes of memory for each value, which repeat it.
func constants[T Constant](name string, values ...T) (at []Mem) {
	var all []T
	for _, v := range values {
		all = append(all, slices.Repeat([]T{v}, 64/v.Bytes())...)
	}
	memory := table(name, all)
	for i := range values {
		at = append(at, memory.Offset(64*i))
	}
	return at
}

var words = map[uint32]Mem{}

// word is 64 bytes of memory that repeat a 32-bit word.
func word(w uint32) Mem {
	if _, ok := words[w]; !ok {
		words[w] = constants(fmt.Sprintf("word%08x", w), U32(w))[0]
	}
	return words[w]
}

// newTailTable writes the table for masks of AVX2: 8 lanes of ones, 8 of zeros.
func newTailTable(name string) Mem {
	return table(name, slices.Concat(slices.Repeat([]U32{math.MaxUint32}, 8), make([]U32, 8)))
}
