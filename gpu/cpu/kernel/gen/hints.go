package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// hints writes hints to the processor and CPUID.
func hints() {
	prefetch()
	pause()
	features()
}

func prefetch() {
	function("prefetch", "func(p *byte, n int, apart int)", "prefetch brings n lines into the L2 cache, apart bytes from each other; n is positive.")
	p, n, apart := parameter("p"), parameter("n"), parameter("apart")
	Label("loop")
	PREFETCHT1(at(p, 0))
	ADDQ(apart, p)
	DECQ(n)
	JNZ(LabelRef("loop"))
	RET()
}

func pause() {
	function("pause", "func(n int)", "pause is n times PAUSE; n is positive.")
	n := parameter("n")
	Label("loop")
	PAUSE()
	DECQ(n)
	JNZ(LabelRef("loop"))
	RET()
}

func features() {
	function("featuresECX", "func() uint32", "featuresECX is ECX of CPUID leaf 1.")
	MOVL(U32(1), reg.EAX)
	XORL(reg.ECX, reg.ECX)
	CPUID()
	Store(reg.ECX, ReturnIndex(0))
	RET()
}
