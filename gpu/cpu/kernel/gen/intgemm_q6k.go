package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// sixBits is a group of Q6K: columns 0 to 15 and 16 to 31 have a scale each.
func (k *intKernel) sixBits() { either(k.lanes, k.sixBits512, k.sixBits256)() }

// sixBitShift moves the upper bits of a step to bits 4 and 5 of each byte; mask the others.
func sixBitShift(step, half int, r vec) {
	switch shift := 4 - 4*step - 2*half; {
	case shift > 0:
		VPSLLW(U8(shift), r, r)
	case shift < 0:
		VPSRLW(U8(-shift), r, r)
	}
}

// sixBits512 takes 16 rows at a time, because each token has two integer sums. They
// start from -32 times the sums of activations, because weights are stored plus 32.
// Multiplied by their scales they are at most 2^24, exact in float32.
func (k *intKernel) sixBits512() {
	k.sixBitStarts()
	if k.unrolled() {
		k.sixBitRows(0)
		k.sixBitRows(1)
		return
	}
	half := GP64()
	XORQ(half, half)
	k.half, k.first = half, half
	Label(k.name + "half")
	k.sixBitRows(0)
	ADDQ(U8(16), half)
	CMPQ(half, U8(32))
	JNE(LabelRef(k.name + "half"))
	k.half, k.first, k.lines = nil, nil, 8
}

// sixBitRows takes 16 rows.
func (k *intKernel) sixBitRows(v int) {
	a, b := k.ints("first"), k.ints("second")
	for t := range k.tokens {
		VPBROADCASTD(at(k.stack, 4*t), a[t][0])
		VPBROADCASTD(at(k.stack, 64+4*t), b[t][0])
	}
	low, high, upper := k.vector("w", 0), k.vector("w", 1), k.vector("w", 2)
	k.parts(func(part int) {
		k.fetch(2)
		for step := range 2 {
			VMOVDQU64(k.weights(part*q6kPart+128*step, 4, v), low)
			VPSRLW(U8(4), low, high)
			VPANDD(word(lowNibbles), low, low)
			VPANDD(word(lowNibbles), high, high)
			for half, w := range []vec{low, high} {
				VMOVDQU64(k.weights(part*q6kPart+256, 4, v), upper)
				sixBitShift(step, half, upper)
				VPTERNLOGD(U8(0xf8), word(0x30303030), upper, w) // w | upper & mask
			}
			for t := range k.tokens {
				VPDPBUSD_BCST(k.activation(2*part+step, t), low, a[t][0])
				VPDPBUSD_BCST(k.activation(2*part+step+4, t), high, b[t][0])
			}
		}
	})
	scaleA, scaleB, d := low, high, upper
	VPMOVSXBD(k.weights(q6kScales, 1, v), scaleA)
	VPMOVSXBD(k.weights(q6kScales+32, 1, v), scaleB)
	VCVTDQ2PS(scaleA, scaleA)
	VCVTDQ2PS(scaleB, scaleB)
	VCVTPH2PS(k.rows(k.head, 0, 2, v), d)
	factor := k.vector("x", 0)
	for t := range k.tokens {
		first, second := a[t][0], b[t][0]
		VCVTDQ2PS(first, first)
		VCVTDQ2PS(second, second)
		VMULPS(scaleB, second, second)
		VFMADD231PS(scaleA, first, second)
		VMULPS_BCST(k.scale(t), d, factor)
		k.add(t, v, second, factor)
	}
}

// parts repeats a body for both parts of a group, in a loop if the rows are a loop.
func (k *intKernel) parts(body func(part int)) {
	if k.half == nil {
		body(0)
		body(1)
		return
	}
	MOVQ(U32(2), k.step)
	loop(k.name+"part", k.step, func() {
		body(0)
		ADDQ(U32(q6kPart), k.w)
		ADDQ(U8(uint8(8*k.tokens)), k.x)
	})
	SUBQ(U32(2*q6kPart), k.w)
	SUBQ(U8(uint8(16*k.tokens)), k.x)
	k.lines = 0
}

// sixBitStarts puts -32 times each token's sums of activations, by half, on the stack.
func (k *intKernel) sixBitStarts() {
	bits, tokens := GP32(), K()
	MOVL(U32(1<<k.tokens-1), bits)
	KMOVW(bits, tokens)
	first, second, x := k.vector("w", 0), k.vector("w", 1), k.vector("x", 0)
	k.clear(first)
	VMOVDQU32(word(0x20202020), second)
	for step := range 4 {
		VMOVDQU32_Z(k.activation(step, 0), tokens, x)
		VPDPBUSD(x, second, first)
	}
	VMOVDQU32_Z(k.correction(0), tokens, second)
	VPSRAD(U8(2), second, second) // -32 sums of -128
	VPADDD(first, second, second)
	k.clear(x)
	VPSUBD(first, x, first)
	VMOVDQU32(first, at(k.stack, 0))
	VMOVDQU32(second, at(k.stack, 64))
}

// sixBits256: VPMADDUBSW takes one unsigned factor. It gets the magnitudes of the
// weights, and their signs are applied to the activations. The four steps of a scale
// add up to at most 8 * 32 * 127, which fits 16 bits.
func (k *intKernel) sixBits256() {
	sums, ints := k.ints("int"), k.ints("half")
	x, w, magnitude := k.vector("x", 0), k.vector("w", 0), k.vector("w", 1)
	for half := range 2 {
		for part := range 2 {
			for step := range 2 {
				if step == 0 {
					k.fetch(2 + 2*half)
				}
				for v := range k.vectors {
					VMOVDQU(k.weights(part*q6kPart+256, 4, v), magnitude)
					sixBitShift(step, half, magnitude)
					VPAND(word(0x30303030), magnitude, magnitude)
					VMOVDQU(k.weights(part*q6kPart+128*step, 4, v), w)
					if half == 1 {
						VPSRLW(U8(4), w, w)
					}
					VPAND(word(lowNibbles), w, w)
					VPOR(magnitude, w, w)
					VPSUBB(word(0x20202020), w, w)
					VPABSB(w, magnitude)
					for t := range k.tokens {
						VPBROADCASTD(k.activation(2*part+step+4*half, t), x)
						VPSIGNB(w, x, x)
						if part == 0 && step == 0 {
							VPMADDUBSW(x, magnitude, ints[t][v])
							continue
						}
						VPMADDUBSW(x, magnitude, x)
						VPADDW(x, ints[t][v], ints[t][v])
					}
				}
			}
		}
		for v := range k.vectors {
			VPMOVSXBD(k.weights(q6kScales+32*half, 1, v), w)
			VPSLLD(U8(16), w, magnitude)
			VPBLENDW(U8(0xaa), magnitude, w, w) // twice as 16 bits
			for t := range k.tokens {
				if half == 0 {
					VPMADDWD(w, ints[t][v], sums[t][v])
					continue
				}
				VPMADDWD(w, ints[t][v], ints[t][v])
				VPADDD(ints[t][v], sums[t][v], sums[t][v])
			}
		}
	}
	k.scaleBy(sums)
}

// scaleBy adds sums of Q6K to the sums over groups.
func (k *intKernel) scaleBy(sums [][]vec) {
	d, factor := k.vector("w", 0), k.vector("x", 0)
	for v := range k.vectors {
		VCVTPH2PS(k.rows(k.head, 0, 2, v), d)
		for t := range k.tokens {
			VBROADCASTSS(k.scale(t), factor)
			VMULPS(d, factor, factor)
			VCVTDQ2PS(sums[t][v], sums[t][v])
			k.add(t, v, sums[t][v], factor)
		}
	}
}
