package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// values adds p v for some queries and positions to their sums: dimensions in lanes, two
// vectors of them at a time, summed over all positions in order.
func values(v lanes) {
	v.function("values", "func(form int, p *float32, rows int, values *byte, runs *int, skip int, n int, groups int, width int, stride int, acc *float32, ldacc int)",
		"adds p[r][i] (rows 256 bytes apart) times value i, of n from position skip of the first run on, to rows of acc, ldacc bytes apart. A value has groups of two vectors, which take width bytes; the next value is stride bytes on.")
	v.eachRows(func(b attentionRows) {
		base, acc, stride := GP64(), GP64(), GP64()
		reload("values", base)
		reload("acc", acc)
		reload("stride", stride)
		runs, p, left, count, from, ahead, a := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
		aheadOf := GP64() // offset of the prefetch in the next run
		XORQ(aheadOf, aheadOf)

		Label(b.label("groups"))
		b.eachSum(acc, a, func(m Mem, s vec) { VMOVUPS(m, s) })
		reload("p", p)
		reload("runs", runs)
		reload("n", left)
		// The first run starts at position skip.
		skip := a // not in use between loads and stores of sums
		reload("skip", skip)
		MOVQ(skip, from)
		IMULQ(stride, from)
		MOVQ(U32(runSlots), count)
		SUBQ(skip, count)
		Label(b.label("run"))
		CMPQ(count, left)
		CMOVQGT(left, count)
		SUBQ(count, left)
		ADDQ(base, from)
		ADDQ(at(runs, 0), from)
		MOVQ(at(runs, 8), ahead)
		ADDQ(base, ahead)
		ADDQ(aheadOf, ahead)
		b.eachForm("positions", func(form string, bytes int, label func(string) string) {
			width := 2 * v.n() * bytes
			loop(label("position"), count, func() {
				PREFETCHT0(at(ahead, 0))
				if width == 128 {
					PREFETCHT0(at(ahead, 64))
				}
				ADDQ(U8(width), ahead)
				b.multiply(func(half int, r vec) { v.widened(form, at(from, width/2*half), r) },
					func(row int) Mem { return at(p, blockBytes*row) })
				ADDQ(stride, from)
				ADDQ(U8(4), p)
			})
		})
		ADDQ(U8(runEntry), runs)
		XORQ(from, from)
		MOVQ(U32(runSlots), count)
		TESTQ(left, left)
		JNZ(LabelRef(b.label("run")))

		b.eachSum(acc, a, func(m Mem, s vec) { VMOVUPS(s, m) })
		ADDQ(U32(2*v.bytes()), acc)
		// base advances by a group, the prefetch by 16 groups.
		reload("width", a)
		ADDQ(a, base)
		IMUL3Q(U8(runSlots-1), a, a)
		ADDQ(a, aheadOf)
		DECQ(argument("groups"))
		JNZ(LabelRef(b.label("groups")))
	})
}

// eachSum calls do for the sums of each row and their memory.
func (b attentionRows) eachSum(acc, row register, do func(m Mem, s vec)) {
	MOVQ(acc, row)
	for r := range b.rows {
		do(at(row, 0), b.sums[0][r])
		do(at(row, b.bytes()), b.sums[1][r])
		if r < b.rows-1 {
			ADDQ(argument("ldacc"), row)
		}
	}
}
