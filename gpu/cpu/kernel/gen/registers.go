package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// function begins a kernel. Pointers do not escape, so callers' buffers stay on the
// stack.
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

// end returns from a kernel. Without VZEROUPPER SSE code would be slow afterwards.
func end() {
	VZEROUPPER()
	RET()
}

// at is memory at a displacement from a pointer.
func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// near is the prefetch distance in bytes from L2 to L1; prefetches from memory to L2
// have a longer one. With the latter alone a product of one token reads at 91 to
// 96 % of the memory bandwidth, with both at 96 to 99 %. 2 to 6 KiB measured best.
const near = 3 << 10
