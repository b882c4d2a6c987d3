package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax turns scores of a block into weights relative to the highest score so
// far. Lanes past a row's own number of positions count nothing, whatever they
// hold; at least one counts. The sum adds vectors by halves, then lanes by
// halves.
func softmax(v lanes, t expTable, lanesTable Mem) {
	v.function("softmax", "func(s *float32, rows int, seen *int32, scale float32, keyScales *float32, valueScales *float32, peaks *float32, totals *float32, shrinks *float32)",
		"makes s[r][i] = e^(s scale keyScales[i] - peak) valueScales[i], brings peaks and totals up to date and tells by what older sums shrink. Without scales both pointers are nil.")
	s, rows, seen := parameter("s"), parameter("rows"), parameter("seen")
	keyScales, valueScales := parameter("keyScales"), parameter("valueScales")
	peaks, totals, shrinks := parameter("peaks"), parameter("totals"), parameter("shrinks")
	exp := v.expf(t)
	vectors := 64 / v.n()

	lowest := v.reg() // -Inf
	bits := GP32()
	MOVL(U32(0xff800000), bits)
	VMOVD(bits, lowest.AsX())
	VBROADCASTSS(lowest.AsX(), lowest)

	Label("row")
	n, scale := v.reg(), v.parameter("scale")
	VPBROADCASTD(at(seen, 0), n)
	x, peak, mask := v.reg(), v.reg(), v.reg()
	VMOVUPS(lowest, peak)
	for i := range vectors {
		m := at(s, v.bytes()*i)
		VMULPS(m, scale, x)
		scalesAt(keyScales, "k"+string(rune('a'+i)), func() { VMULPS(at(keyScales, v.bytes()*i), x, x) })
		if v.wide {
			k := K()
			VPCMPD(U8(1), n, loaded(v, lanesTable.Offset(64*i), mask), k) // lane < n
			VBLENDMPS(x, lowest, k, x)
		} else {
			VMOVUPS(lanesTable.Offset(32*i), mask)
			VPCMPGTD(mask, n, mask)
			VBLENDVPS(mask, x, lowest, x)
		}
		VMAXPS(x, peak, peak)
		VMOVUPS(x, m)
	}
	v.fold(peak, VMAXPS)
	old, shrink := v.reg(), v.reg()
	VMOVSS(at(peaks, 0), old.AsX())
	VMAXSS(peak.AsX(), old.AsX(), peak.AsX())
	VMOVSS(peak.AsX(), at(peaks, 0))
	VSUBPS(peak.AsX(), old.AsX(), shrink.AsX())
	VBROADCASTSS(peak.AsX(), peak)
	exp.of(shrink)
	VMOVSS(shrink.AsX(), at(shrinks, 0))
	var sums []reg.VecVirtual
	for i := range vectors {
		m := at(s, v.bytes()*i)
		x := v.reg()
		if !v.wide && i >= 4 {
			x = mask
		}
		VMOVUPS(m, x)
		VSUBPS(peak, x, x)
		exp.of(x)
		if !v.wide && i >= 4 {
			VADDPS(x, sums[i-4], sums[i-4])
		} else {
			sum := v.reg()
			VMOVUPS(x, sum)
			sums = append(sums, sum)
		}
		scalesAt(valueScales, "v"+string(rune('a'+i)), func() { VMULPS(at(valueScales, v.bytes()*i), x, x) })
		VMOVUPS(x, m)
	}
	VADDPS(sums[1], sums[0], sums[0])
	VADDPS(sums[3], sums[2], sums[2])
	VADDPS(sums[2], sums[0], sums[0])
	v.fold(sums[0], VADDPS)
	VMOVSS(at(totals, 0), old.AsX())
	VFMADD213SS(sums[0].AsX(), shrink.AsX(), old.AsX())
	VMOVSS(old.AsX(), at(totals, 0))
	ADDQ(U32(blockBytes), s)
	for _, p := range []reg.Register{seen, peaks, totals, shrinks} {
		ADDQ(U8(4), p)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	end()
}

// scalesAt does something where there are scales.
func scalesAt(scales reg.Register, label string, do func()) {
	TESTQ(scales, scales)
	JZ(LabelRef("no" + label))
	do()
	Label("no" + label)
}

func loaded(v lanes, m Mem, r reg.VecVirtual) reg.VecVirtual {
	VMOVUPS(m, r)
	return r
}

func mix(v lanes, tail Mem) {
	v.function("mix", "func(x, y *float32, a, b float32, n int)", "is x = x a + y b.")
	x, y, n := parameter("x"), parameter("y"), parameter("n")
	a, b := v.parameter("a"), v.parameter("b")
	p, q := v.reg(), v.reg()
	v.each(n, tail, []reg.GPVirtual{x, y}, func(load loader, store storer) {
		load(x, p)
		load(y, q)
		VMULPS(a, p, p)
		VFMADD231PS(b, q, p)
		store(p, x)
	})
	end()
}

func scaled(v lanes, tail Mem) {
	v.function("scaled", "func(x, out *float32, a float32, n int)", "is out = x a; out may be x.")
	x, out, n := parameter("x"), parameter("out"), parameter("n")
	a, p := v.parameter("a"), v.reg()
	v.each(n, tail, []reg.GPVirtual{x, out}, func(load loader, store storer) {
		load(x, p)
		VMULPS(a, p, p)
		store(p, out)
	})
	end()
}

func widenI8(v lanes) {
	v.function("widenI8", "func(out *float32, in *int8, n int)", "widens n elements; n is a positive multiple of 16.")
	out, in, n := parameter("out"), parameter("in"), parameter("n")
	r := v.reg()
	v.vectors(n, func() {
		v.widened("I8", at(in, 0), r)
		VMOVUPS(r, at(out, 0))
		ADDQ(U8(v.n()), in)
		ADDQ(U8(4*v.n()), out)
	})
	end()
}
