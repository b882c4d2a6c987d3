package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// block512 is a kernel at AVX-512: VPDPBUSD adds four products of unsigned
// weights and signed activations.
type block512 struct {
	*blockKernel
	sums *sums512
	// Of a tile of few tokens d and m of the block stay in registers.
	d, m [2]reg.VecVirtual
	kept bool
}

// keptTokens is how many tokens leave registers for d and m.
const keptTokens = 4

func intBlocksAVX512(f blockForm, tokens int) {
	k := &block512{blockKernel: newBlockKernel("AVX512", f, tokens), kept: tokens <= keptTokens && f.name == "Q4K"}
	body := k.minimums()
	if f.name == "Q6K" {
		body = k.sixBits()
	}
	k.sums = k.sums512()
	k.loop("group", func() {
		if !k.kept {
			return
		}
		for h := range 2 {
			k.d[h], k.m[h] = ZMM(), ZMM()
			k.heads(h, k.d[h], k.m[h])
		}
	}, body)
	k.sums.store(k.intKernel)
	end()
}

// bytes512 fills a register with a byte.
func bytes512(b uint32) reg.VecVirtual {
	r, z := GP32(), ZMM()
	MOVL(U32(b*0x01010101), r)
	VPBROADCASTD(r, z)
	return z
}

// heads loads d, and m with what takes it from -128 sums to sums.
func (k *block512) heads(h int, d, m reg.Register) {
	VCVTPH2PS(at(k.head, 32*h), d)
	VCVTPH2PS(at(k.head, 64+32*h), m)
	VMULPS(constant("lowered", repeated(0x3c000000)...), m, m) // 1/128
}

// scales gives scale and offset of rows 16h and on.
func (k *block512) scales(h int) (scale, offset reg.VecVirtual) {
	scale, offset = ZMM(), ZMM()
	if k.form.name == "Q41" {
		VCVTPH2PS(at(k.w, nibbleBytes+32*h), scale)
		VCVTPH2PS(at(k.w, nibbleBytes+64+32*h), offset)
		VMULPS(constant("turned", repeated(0xbc000000)...), offset, offset) // -1/128
		return scale, offset
	}
	VPMOVZXBD(at(k.w, nibbleBytes+16*h), scale)
	VPMOVZXBD(at(k.w, nibbleBytes+32+16*h), offset)
	VCVTDQ2PS(scale, scale)
	VCVTDQ2PS(offset, offset)
	d, m := k.d[h], k.m[h]
	if !k.kept {
		d, m = ZMM(), ZMM()
		k.heads(h, d, m)
	}
	VMULPS(d, scale, scale)
	VMULPS(m, offset, offset)
	return scale, offset
}

// minimums is a group of Q41 or Q4K.
func (k *block512) minimums() func() {
	mask := bytes512(0x0f)
	return func() {
		ints := make([][2]reg.VecVirtual, k.tokens)
		for t := range ints {
			for h := range ints[t] {
				ints[t][h] = ZMM()
				clearVector(true, ints[t][h])
			}
		}
		multiply := func(step int, w [2]reg.VecVirtual) {
			for t := range k.tokens {
				if k.tokens == 1 {
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
		for step := range 4 {
			var lo, hi [2]reg.VecVirtual
			for h := range lo {
				lo[h], hi[h] = ZMM(), ZMM()
				VMOVDQU64(at(k.w, 128*step+64*h), lo[h])
			}
			k.fetches.fetch(step, 4)
			for h := range lo {
				VPSRLW(U8(4), lo[h], hi[h])
				VPANDD(mask, lo[h], lo[h])
				VPANDD(mask, hi[h], hi[h])
			}
			multiply(step, lo)
			multiply(step+4, hi)
		}
		var scale, offset [2]reg.VecVirtual
		for h := range scale {
			scale[h], offset[h] = k.scales(h)
		}
		for t := range k.tokens {
			all, x := ZMM(), ZMM()
			VCVTDQ2PS_BCST(k.correction(t), all)
			VBROADCASTSS(k.scale(t), x)
			for h := range 2 {
				p := ZMM()
				VMULPS(offset[h], all, p)
				VCVTDQ2PS(ints[t][h], ints[t][h])
				VFMADD231PS(ints[t][h], scale[h], p)
				k.sums.fma(t, h, p, x)
			}
		}
	}
}

// sixBits is a group of Q6K: 16 rows and then the others, for each token has two
// integer sums. They start where the 32 that weights have too much is taken off.
// Both times their scales, up to 2^24, they are exact in float32.
func (k *block512) sixBits() func() {
	starts := AllocLocal(2 * 64)
	low, high, offset := bytes512(0x0f), bytes512(0x30), bytes512(0x20)
	bits, tokens := GP32(), K()
	MOVL(U32(1<<k.tokens-1), bits)
	KMOVW(bits, tokens)
	return func() {
		first, second := zero(true), ZMM()
		x := ZMM()
		for step := range 4 {
			VMOVDQU32_Z(k.activation(step, 0), tokens, x)
			VPDPBUSD(x, offset, first)
		}
		VMOVDQU32_Z(k.correction(0), tokens, second)
		VPSRAD(U8(2), second, second) // -32 sums of -128
		VPADDD(first, second, second)
		clearVector(true, x)
		VPSUBD(first, x, first)
		VMOVDQU32(first, starts)
		VMOVDQU32(second, starts.Offset(64))
		for h := range 2 {
			a, b := make([]reg.VecVirtual, k.tokens), make([]reg.VecVirtual, k.tokens)
			for t := range a {
				a[t], b[t] = ZMM(), ZMM()
				VPBROADCASTD(starts.Offset(4*t), a[t])
				VPBROADCASTD(starts.Offset(64+4*t), b[t])
			}
			for step := range 4 {
				part := step / 2 * q6kPart
				lo, hi := ZMM(), ZMM()
				VMOVDQU64(at(k.w, part+step%2*128+64*h), lo)
				k.fetches.fetch(4*h+step, 8)
				VPSRLW(U8(4), lo, hi)
				VPANDD(low, lo, lo)
				VPANDD(low, hi, hi)
				for i, w := range []*reg.VecVirtual{&lo, &hi} {
					upper := ZMM()
					VMOVDQU64(at(k.w, part+256+64*h), upper)
					switch shift := 4 - 4*(step%2) - 2*i; {
					case shift > 0:
						VPSLLW(U8(shift), upper, upper)
					case shift < 0:
						VPSRLW(U8(-shift), upper, upper)
					}
					VPTERNLOGD(U8(0xea), *w, high, upper) // upper & high | w
					*w = upper
				}
				for t := range k.tokens {
					VPDPBUSD_BCST(k.activation(step, t), lo, a[t])
					VPDPBUSD_BCST(k.activation(step+4, t), hi, b[t])
				}
			}
			sa, sb, d := ZMM(), ZMM(), ZMM()
			VPMOVSXBD(at(k.w, q6kScales+16*h), sa)
			VPMOVSXBD(at(k.w, q6kScales+32+16*h), sb)
			VCVTDQ2PS(sa, sa)
			VCVTDQ2PS(sb, sb)
			VCVTPH2PS(at(k.head, 32*h), d)
			for t := range k.tokens {
				factor := ZMM()
				VCVTDQ2PS(a[t], a[t])
				VCVTDQ2PS(b[t], b[t])
				VMULPS(sb, b[t], b[t])
				VFMADD231PS(sa, a[t], b[t])
				VMULPS_BCST(k.scale(t), d, factor)
				k.sums.fma(t, h, b[t], factor)
			}
		}
	}
}
