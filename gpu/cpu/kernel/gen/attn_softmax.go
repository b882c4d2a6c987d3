package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// softmax turns scores of a block into weights relative to the row maximum so far.
// Lanes after a row's number of positions are masked, whatever they hold; at least
// one is not. The sum adds vectors by halves, then lanes by halves.
func softmax(v lanes, c laneConstants, lanesTable Mem) {
	v.function("softmax", "func(s *float32, rows int, seen *int32, scale float32, keyScales *float32, valueScales *float32, peaks *float32, totals *float32, shrinks *float32)",
		"makes s[r][i] = e^(s scale keyScales[i] - peak) valueScales[i], updates maximums and denominators and writes the factors for older sums. Without scales both pointers are nil.")
	b := &softmaxRow{lanes: v, table: lanesTable, exp: v.expf(c, false)}
	b.s, b.seen, b.keyScales, b.valueScales = parameter("s"), parameter("seen"), parameter("keyScales"), parameter("valueScales")
	peaks, totals, shrinks, rows := parameter("peaks"), parameter("totals"), parameter("shrinks"), parameter("rows")
	b.scale, b.lowest, b.peak, b.x = v.parameter("scale"), v.reg(), v.reg(), v.reg()
	bits, one := GP32(), XMM()
	MOVL(U32(0xff800000), bits) // -Inf
	VMOVD(bits, b.lowest.AsX())
	VBROADCASTSS(b.lowest.AsX(), b.lowest)
	VMOVSS(c[1], one)

	// First the maximums of all rows, then all weights, so that the latency of one
	// row is hidden by the others.
	Label("peaks")
	CMPL(at(b.seen, 0), U8(64))
	JNE(LabelRef("masked"))
	b.scores("whole", false)
	JMP(LabelRef("scored"))
	Label("masked")
	b.scores("part", true)
	Label("scored")
	v.fold(b.peak, VMAXPS)
	old, shrink, sum := XMM(), v.reg(), v.reg()
	VMOVSS(at(peaks, 0), old)
	VMAXSS(b.peak.AsX(), old, b.peak.AsX())
	VMOVSS(b.peak.AsX(), at(peaks, 0))
	// The maximum usually stays the same; then the factor is 1.
	VMOVAPS(one, shrink.AsX())
	VUCOMISS(b.peak.AsX(), old)
	JP(LabelRef("moved"))
	JE(LabelRef("stayed"))
	Label("moved")
	VSUBPS(b.peak.AsX(), old, shrink.AsX())
	b.exp.of(shrink)
	Label("stayed")
	VMOVSS(shrink.AsX(), at(shrinks, 0))
	ADDQ(U32(blockBytes), b.s)
	advance(4, b.seen, peaks, shrinks)
	DECQ(rows)
	JNZ(LabelRef("peaks"))

	reload("s", b.s)
	reload("peaks", peaks)
	reload("shrinks", shrinks)
	reload("rows", rows)
	loop("weights", rows, func() {
		VBROADCASTSS(at(peaks, 0), b.peak)
		b.weights(sum)
		v.fold(sum, VADDPS)
		VMOVSS(at(totals, 0), old)
		VMOVSS(at(shrinks, 0), shrink.AsX())
		VFMADD213SS(sum.AsX(), shrink.AsX(), old)
		VMOVSS(old, at(totals, 0))
		ADDQ(U32(blockBytes), b.s)
		advance(4, peaks, totals, shrinks)
	})
	end()
}

// softmaxRow is the state while a row is computed.
type softmaxRow struct {
	lanes
	table                           Mem
	exp                             expf
	s, seen, keyScales, valueScales gpr
	scale, lowest, peak, x          vec
}

// scores scales the row and finds its maximum; masked: some lanes are masked.
func (b *softmaxRow) scores(label string, masked bool) {
	n, mask := b.reg(), b.reg()
	if masked {
		VPBROADCASTD(at(b.seen, 0), n)
	}
	VMOVUPS(b.lowest, b.peak)
	for i := range 64 / b.n() {
		x, m := b.x, at(b.s, b.bytes()*i)
		VMULPS(m, b.scale, x)
		where(b.keyScales, fmt.Sprintf("%s%d", label, i), func() { VMULPS(at(b.keyScales, b.bytes()*i), x, x) })
		switch {
		case masked && b.wide:
			k := K()
			VMOVUPS(b.table.Offset(64*i), mask)
			VPCMPD(U8(1), n, mask, k) // lane < n
			VBLENDMPS(x, b.lowest, k, x)
		case masked:
			VMOVUPS(b.table.Offset(32*i), mask)
			VPCMPGTD(mask, n, mask)
			VBLENDVPS(mask, x, b.lowest, x)
		}
		VMAXPS(x, b.peak, b.peak)
		VMOVUPS(x, m)
	}
}

// weights computes a row's weights: vector i goes to sum i mod 4, then pairs are added.
func (b *softmaxRow) weights(sum vec) {
	sums := []vec{sum, b.reg(), b.reg(), b.reg()}
	for i := range 64 / b.n() {
		x, m := b.x, at(b.s, b.bytes()*i)
		VMOVUPS(m, x)
		VSUBPS(b.peak, x, x)
		b.exp.of(x)
		if i < len(sums) {
			VMOVUPS(x, sums[i])
		} else {
			VADDPS(x, sums[i-len(sums)], sums[i-len(sums)])
		}
		where(b.valueScales, fmt.Sprintf("weight%d", i), func() { VMULPS(at(b.valueScales, b.bytes()*i), x, x) })
		VMOVUPS(x, m)
	}
	addFour(sums, VADDPS)
}

// where runs do if a pointer is not nil.
func where(p register, label string, do func()) {
	TESTQ(p, p)
	JZ(LabelRef("no" + label))
	do()
	Label("no" + label)
}
