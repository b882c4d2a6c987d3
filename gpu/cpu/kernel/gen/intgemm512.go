package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// intGemmAVX512 has 32 rows by up to twelve tokens: VPDPBUSD adds four
// products of unsigned weights and signed activations. What the offset of the
// weights adds is taken off by the correction that integer sums start from.
func intGemmAVX512(q4 bool, tokens int) {
	k := newIntKernel("AVX512", q4, tokens)
	f := k.fetcher()
	var mask reg.VecVirtual
	if q4 {
		mask = ZMM()
		r := GP32()
		MOVL(U32(0x0f0f0f0f), r)
		VPBROADCASTD(r, mask)
	}
	sums := k.sums512()
	Label("group")
	f.begin()
	ints := make([][2]reg.VecVirtual, tokens)
	for t := range ints {
		ints[t] = [2]reg.VecVirtual{ZMM(), ZMM()}
		if q4 { // the correction is that of Q8, -128 sums; Q4 takes off 8
			VPSRAD_BCST(U8(4), k.correction(t), ints[t][0])
		} else {
			VPBROADCASTD(k.correction(t), ints[t][0])
		}
		VMOVDQA64(ints[t][0], ints[t][1])
	}
	multiply := func(step int, w [2]reg.VecVirtual) {
		for t := range tokens {
			if tokens == 1 {
				VPDPBUSD_BCST(k.activation(step, t), w[0], ints[t][0])
				VPDPBUSD_BCST(k.activation(step, t), w[1], ints[t][1])
				continue
			}
			x := ZMM()
			VPBROADCASTD(k.activation(step, t), x)
			VPDPBUSD(x, w[0], ints[t][0])
			VPDPBUSD(x, w[1], ints[t][1])
		}
	}
	for line := 0; line < k.groupBytes()-scales; line += 128 {
		lo := [2]reg.VecVirtual{ZMM(), ZMM()}
		for h := range lo {
			VMOVDQU64(at(k.w, line+64*h), lo[h])
		}
		f.fetch(2)
		if !q4 {
			multiply(line/128, lo)
			continue
		}
		hi := [2]reg.VecVirtual{ZMM(), ZMM()}
		for h := range lo {
			VPSRLW(U8(4), lo[h], hi[h])
			VPANDD(mask, lo[h], lo[h])
			VPANDD(mask, hi[h], hi[h])
		}
		multiply(line/128, lo)
		multiply(line/128+4, hi)
	}
	f.fetch(1)
	ws := [2]reg.VecVirtual{ZMM(), ZMM()}
	for h := range ws {
		VCVTPH2PS(at(k.w, k.groupBytes()-scales+32*h), ws[h])
	}
	for t := range tokens {
		for h := range 2 {
			factor := ZMM()
			VMULPS_BCST(k.scale(t), ws[h], factor)
			VCVTDQ2PS(ints[t][h], ints[t][h])
			sums.fma(t, h, ints[t][h], factor)
		}
	}
	k.next()
	sums.store(k)
	end()
}

// sums512 are the sums of a tile over groups: 32 rows are two registers, or
// two lines on the stack.
type sums512 struct {
	registers [][2]reg.VecVirtual
	stack     reg.GPVirtual
}

func (k *intKernel) sums512() *sums512 {
	s := &sums512{}
	if k.tokens > intTileRegisters {
		s.stack = GP64()
		LEAQ(AllocLocal(128*k.tokens+64), s.stack)
		ADDQ(U8(63), s.stack)
		ANDQ(I8(-64), s.stack)
	} else {
		for range k.tokens {
			s.registers = append(s.registers, [2]reg.VecVirtual{ZMM(), ZMM()})
		}
	}
	none := zero(true)
	for t := range k.tokens {
		for h := range 2 {
			if s.stack != nil {
				VMOVUPS(none, s.at(t, h))
			} else {
				VMOVAPS(none, s.registers[t][h])
			}
		}
	}
	add := parameter("add")
	TESTQ(add, add)
	JZ(LabelRef("group"))
	k.rows(func(t int, row reg.Register) {
		for h := range 2 {
			if s.stack == nil {
				VMOVUPS(at(row, 64*h), s.registers[t][h])
				continue
			}
			VMOVUPS(at(row, 64*h), none)
			VMOVUPS(none, s.at(t, h))
		}
	})
	return s
}

func (s *sums512) at(token, half int) Mem { return at(s.stack, 128*token+64*half) }

// fma adds product * factor, which it spoils.
func (s *sums512) fma(token, half int, product, factor reg.VecVirtual) {
	if s.stack == nil {
		VFMADD231PS(factor, product, s.registers[token][half])
		return
	}
	VFMADD213PS(s.at(token, half), factor, product)
	VMOVUPS(product, s.at(token, half))
}

func (s *sums512) store(k *intKernel) {
	k.rows(func(t int, row reg.Register) {
		for h := range 2 {
			if s.stack == nil {
				VMOVUPS(s.registers[t][h], at(row, 64*h))
				continue
			}
			z := ZMM()
			VMOVUPS(s.at(t, h), z)
			VMOVUPS(z, at(row, 64*h))
		}
	})
}
