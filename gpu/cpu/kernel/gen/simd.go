package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func hints() {
	function("prefetch", "func(p *byte, n int, apart int)", "brings n lines into the L2 cache, apart bytes from each other; n is positive.")
	p, n, apart := parameter("p"), parameter("n"), parameter("apart")
	loop("loop", n, func() {
		PREFETCHT1(at(p, 0))
		ADDQ(apart, p)
	})
	RET()

	function("pause", "func(n int)", "is n times PAUSE; n is positive.")
	loop("loop", parameter("n"), PAUSE)
	RET()
}
