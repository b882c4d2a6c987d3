package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// limits writes loops that reach a limit of the processor.
func limits() {
	eachLevel(func(v lanes) {
		readSum(v)
		multiplyAdds(v)
		intPeak(v)
	})
}

func readSum(v lanes) {
	v.function("readSum", "func(p *byte, n int) float32", "sums n bytes as float32; n is a positive multiple of 512.")
	p, n := parameter("p"), parameter("n")
	sums := v.zeros(8)
	Label("loop")
	for i := range 512 / v.bytes() {
		s := sums[i%8]
		VADDPS(at(p, v.bytes()*i), s, s)
	}
	ADDQ(U32(512), p)
	SUBQ(U32(512), n)
	JNZ(LabelRef("loop"))
	for _, s := range sums[1:] {
		VADDPS(s, sums[0], sums[0])
	}
	Store(sums[0].AsX(), ReturnIndex(0)) // one lane of several: the sum has no meaning
	end()
}

// multiplyAdds keeps the multipliers busy.
func multiplyAdds(v lanes) {
	vectors := either(v, 24, 12)
	v.function("multiplyAdds", "func(n int)", fmt.Sprintf("does %d fused multiply-adds of vectors, n times; n is positive.", vectors))
	n, x, w, acc := parameter("n"), v.zero(), v.zero(), v.zeros(vectors)
	loop("loop", n, func() {
		for _, a := range acc {
			VFMADD231PS(x, w, a)
		}
	})
	end()
}

func intPeak(v lanes) {
	v.function("intPeak", "func(n int)", "does n times 20 vectors of products; n is positive.")
	n, count := parameter("n"), either(v, 20, 10)
	sums, a := v.zeros(count), v.zero()
	t := a
	if !v.wide {
		t = YMM()
	}
	loop("loop", n, func() {
		for range 20 / count {
			for _, s := range sums {
				if v.wide {
					VPDPBUSD(a, a, s)
					continue
				}
				// Four products of bytes without VNNI.
				VPMADDUBSW(a, a, t)
				VPMADDWD(a, t, t)
				VPADDD(t, s, s)
			}
		}
	})
	end()
}
