package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// limits writes loops that reach a limit of the processor.
func limits() {
	for _, wide := range []bool{true, false} {
		readSum(wide)
		multiplyAdds(wide)
		intPeak(wide)
	}
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
	Store(sums[0].AsX(), ReturnIndex(0)) // one lane of many: the sum has no meaning
	end()
}

// multiplyAdds keeps the multipliers busy.
func multiplyAdds(wide bool) {
	name, vectors := "multiplyAddsAVX2", 12
	if wide {
		name, vectors = "multiplyAddsAVX512", 24
	}
	function(name, "func(n int)", fmt.Sprintf("%s does %d fused multiply-adds of vectors, n times; n is positive.", name, vectors))
	n := parameter("n")
	x, w := zero(wide), zero(wide)
	var acc []reg.VecVirtual
	for range vectors {
		acc = append(acc, zero(wide))
	}
	Label("loop")
	for _, a := range acc {
		VFMADD231PS(x, w, a)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	end()
}

// intPeak multiplies integers in registers.
func intPeak(wide bool) {
	name := "intPeakAVX2"
	if wide {
		name = "intPeakAVX512"
	}
	function(name, "func(n int)", name+" does n times 20 vectors of products; n is positive.")
	n := parameter("n")
	var sums []reg.VecVirtual
	count := 10
	if wide {
		count = 20
	}
	for range count {
		sums = append(sums, zero(wide))
	}
	a := zero(wide)
	t := a
	if !wide {
		t = YMM()
	}
	Label("loop")
	for range 20 / count {
		for _, s := range sums {
			if wide {
				VPDPBUSD(a, a, s)
				continue
			}
			// Four products of bytes without VNNI.
			VPMADDUBSW(a, a, t)
			VPMADDWD(a, t, t)
			VPADDD(t, s, s)
		}
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	end()
}
