package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// function begins a kernel. Pointers do not escape, so that callers' buffers
// stay on the stack.
func function(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc)
}

// parameter loads a pointer or an int.
func parameter(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// zero gives a register of 16 or 8 zeros.
func zero(wide bool) reg.VecVirtual {
	v := YMM()
	if wide {
		v = ZMM()
	}
	clearVector(wide, v)
	return v
}

func clearVector(wide bool, v reg.VecVirtual) {
	if wide {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
}

// end closes a kernel. Without VZEROUPPER the SSE code that follows is slow.
func end() {
	VZEROUPPER()
	RET()
}

// at is the memory so many bytes behind a pointer.
func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// near is how many bytes ahead of their use weights are brought from the second
// cache into the first one; what memory has is asked for further ahead. With the
// latter alone a product of one token reads at 91 to 96 % of what memory gives,
// with both at 96 to 99 %. Measured best from 2 to 6 KiB.
const near = 3 << 10
