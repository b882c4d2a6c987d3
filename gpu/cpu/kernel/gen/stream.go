package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stream writes what measures the machine, and what waits.
func stream() {
	readSum(true)
	readSum(false)
	prefetch()
	pause()
	features()
}

// readSum sums memory as fast as it can be read.
func readSum(wide bool) {
	name, width := "readSumAVX2", 32
	if wide {
		name, width = "readSumAVX512", 64
	}
	function(name, "func(p *byte, n int) float32", name+" sums n bytes as float32; n is a positive multiple of 512.")
	p, n := parameter("p"), parameter("n")
	var sums []reg.VecVirtual
	for range 8 {
		sums = append(sums, zero(wide))
	}
	Label("loop")
	for i := range 512 / width {
		s := sums[i%8]
		VADDPS(at(p, width*i), s, s)
	}
	ADDQ(U32(512), p)
	SUBQ(U32(512), n)
	JNZ(LabelRef("loop"))
	for _, s := range sums[1:] {
		VADDPS(s, sums[0], sums[0])
	}
	Store(sums[0].AsX(), ReturnIndex(0)) // one lane of many: nobody wants the sum
	end()
}

func prefetch() {
	function("prefetch", "func(p *byte, n int, apart int)", "prefetch asks for n lines into the second cache, so many bytes apart; n is positive.")
	p, n, apart := parameter("p"), parameter("n"), parameter("apart")
	Label("loop")
	PREFETCHT1(at(p, 0))
	ADDQ(apart, p)
	DECQ(n)
	JNZ(LabelRef("loop"))
	RET()
}

func pause() {
	function("pause", "func(n int)", "pause tells the processor n times that somebody spins; n is positive.")
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
