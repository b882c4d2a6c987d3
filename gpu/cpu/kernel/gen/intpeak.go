package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// intPeak multiplies registers as fast as they can be: what a share of the
// peak is measured against.
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
			// What four products of bytes cost without VNNI.
			VPMADDUBSW(a, a, t)
			VPMADDWD(a, t, t)
			VPADDD(t, s, s)
		}
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	end()
}
