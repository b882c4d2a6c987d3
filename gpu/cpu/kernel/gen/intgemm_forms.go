package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// dot adds to sums[t] the products of four weights each of a step: unsigned weights
// in w, one vector of rows each, by the signed activations of the tokens.
func (k *intKernel) dot(step int, w []vec, sums [][]vec) {
	for t := range k.tokens {
		if k.tokens == 1 {
			for v := range w {
				VPDPBUSD_BCST(k.activation(step, t), w[v], sums[t][v])
			}
			continue
		}
		x := k.vector("x", 0)
		VPBROADCASTD(k.activation(step, t), x)
		for v := range w {
			VPDPBUSD(x, w[v], sums[t][v])
		}
	}
}

// q8: VPDPBUSD adds four products. The correction that sums start from removes the
// contribution of the weights' offset.
func (k *intKernel) q8() {
	sums := k.ints("int")
	if !k.wide {
		k.signedBytes(sums)
		k.scaleAndAdd(q8Weights, sums)
		return
	}
	for t := range k.tokens {
		VPBROADCASTD(k.correction(t), sums[t][0])
		VMOVDQA64(sums[t][0], sums[t][1])
	}
	w := []vec{k.vector("w", 0), k.vector("w", 1)}
	k.steps(8, func(step int) {
		for v := range w {
			VMOVDQU64(k.weights(128*step, 4, v), w[v])
		}
		k.fetchPairs(step)
		k.dot(step, w, sums)
	})
	k.scaleAndAdd(q8Weights, sums)
}

// signedBytes are the integer sums of Q8 at AVX2. VPMADDUBSW takes one unsigned
// factor and saturates at 16 bits, which twice 255 * 127 exceeds. So it gets the
// magnitudes of the signed weights, and the signs are applied to the activations:
// twice 128 * 127 fits. The correction is not needed.
func (k *intKernel) signedBytes(sums [][]vec) {
	w, magnitude, x := k.vector("w", 0), k.vector("w", 1), k.vector("x", 0)
	k.steps(8, func(step int) {
		k.fetchPairs(step)
		for v := range k.vectors {
			VPXOR(k.weights(128*step, 4, v), k.constant(signBits), w)
			VPABSB(w, magnitude)
			for t := range k.tokens {
				VPBROADCASTD(k.activation(step, t), x)
				VPSIGNB(w, x, x)
				VPMADDUBSW(x, magnitude, x)
				if step == 0 {
					VPMADDWD(k.constant(ones16), x, sums[t][v])
					continue
				}
				VPMADDWD(k.constant(ones16), x, x)
				VPADDD(x, sums[t][v], sums[t][v])
			}
		}
	})
}

// q4 starts from a sixteenth of the correction, which is -128 times the sum of the
// activations: the offset of the weights is 8.
func (k *intKernel) q4() {
	sums := k.ints("int")
	if k.wide {
		for t := range k.tokens {
			VPSRAD_BCST(U8(4), k.correction(t), sums[t][0])
			VMOVDQA64(sums[t][0], sums[t][1])
		}
		k.nibbles(sums)
	} else {
		k.nibbles(sums)
		x := k.vector("x", 0)
		for t := range k.tokens {
			VPBROADCASTD(k.correction(t), x)
			VPSRAD(U8(4), x, x)
			for _, s := range sums[t] {
				VPMADDWD(k.constant(ones16), s, s)
				VPADDD(x, s, s)
			}
		}
	}
	k.scaleAndAdd(q4Weights, sums)
}

// nibbles adds the products of a group whose bytes have a column in each half. At AVX2
// the sums begin here and have 16 bits: eight steps add up to 16 * 15 * 127 at most.
func (k *intKernel) nibbles(sums [][]vec) {
	k.steps(4, func(step int) {
		if k.wide {
			k.nibbles512(step, sums)
			return
		}
		k.fetchPairs(step)
		low, high, x := k.vector("w", 0), k.vector("w", 1), k.vector("x", 0)
		for v := range k.vectors {
			VMOVDQU(k.weights(128*step, 4, v), low)
			VPSRLW(U8(4), low, high)
			VPAND(k.constant(lowNibbles), low, low)
			VPAND(k.constant(lowNibbles), high, high)
			for t := range k.tokens {
				for half, w := range []vec{low, high} {
					VPBROADCASTD(k.activation(step+4*half, t), x)
					if step == 0 && half == 0 {
						VPMADDUBSW(x, w, sums[t][v])
						continue
					}
					VPMADDUBSW(x, w, x)
					VPADDW(x, sums[t][v], sums[t][v])
				}
			}
		}
	})
}

func (k *intKernel) nibbles512(step int, sums [][]vec) {
	low := []vec{k.vector("w", 0), k.vector("w", 1)}
	high := []vec{k.vector("w", 2), k.vector("w", 3)}
	for v := range low {
		VMOVDQU64(k.weights(128*step, 4, v), low[v])
	}
	k.fetchPairs(step)
	for v := range low {
		VPSRLW(U8(4), low[v], high[v])
		VPANDD(k.constant(lowNibbles), low[v], low[v])
		VPANDD(k.constant(lowNibbles), high[v], high[v])
	}
	k.dot(step, low, sums)
	k.dot(step+4, high, sums)
}

// scaleAndAdd adds sum * weight scale * activation scale; weight scales are at disp.
func (k *intKernel) scaleAndAdd(disp int, sums [][]vec) {
	for v := range k.vectors {
		scale, factor := k.vector("w", 0), k.vector("x", 0)
		VCVTPH2PS(k.weights(disp, 2, v), scale)
		for t := range k.tokens {
			if k.wide {
				VMULPS_BCST(k.scale(t), scale, factor)
			} else {
				VBROADCASTSS(k.scale(t), factor)
				VMULPS(scale, factor, factor)
			}
			VCVTDQ2PS(sums[t][v], sums[t][v])
			k.add(t, v, sums[t][v], factor)
		}
	}
}

// minimums is a group of Q41 or Q4K: sum*scale + sum of activations*offset, times
// the scale of the activations.
func (k *intKernel) minimums() {
	sums := k.ints("int")
	if k.wide {
		for t := range sums {
			for _, s := range sums[t] {
				k.clear(s)
			}
		}
	}
	k.nibbles(sums)
	scale, offset, p, x := k.vector("w", 0), k.vector("w", 1), k.vector("w", 2), k.vector("x", 0)
	for v := range k.vectors {
		k.scaleAndOffset(v, scale, offset)
		for t := range k.tokens {
			if k.wide {
				VCVTDQ2PS_BCST(k.correction(t), p)
			} else {
				VPBROADCASTD(k.correction(t), p)
				VCVTDQ2PS(p, p)
				VPMADDWD(word(ones16), sums[t][v], sums[t][v])
			}
			VMULPS(offset, p, p)
			VCVTDQ2PS(sums[t][v], sums[t][v])
			VFMADD231PS(sums[t][v], scale, p)
			VBROADCASTSS(k.scale(t), x)
			k.add(t, v, p, x)
		}
	}
}

// scaleAndOffset loads those of rows of Q41 or Q4K; the offset is for the correction.
func (k *intKernel) scaleAndOffset(v int, scale, offset register) {
	label := fmt.Sprint(k.name, "scale", v)
	CMPQ(argument("form"), U8(formQ4K))
	JEQ(LabelRef(label))
	VCVTPH2PS(k.weights(nibbleBytes, 2, v), scale)
	VCVTPH2PS(k.weights(nibbleBytes+64, 2, v), offset)
	VMULPS(word(0xbc000000), offset, offset) // -1/128
	JMP(LabelRef(label + "done"))
	Label(label)
	head := k.vector("x", 0)
	VPMOVZXBD(k.weights(nibbleBytes, 1, v), scale)
	VPMOVZXBD(k.weights(nibbleBytes+32, 1, v), offset)
	VCVTDQ2PS(scale, scale)
	VCVTDQ2PS(offset, offset)
	VCVTPH2PS(k.rows(k.head, 0, 2, v), head)
	VMULPS(head, scale, scale)
	VCVTPH2PS(k.rows(k.head, 64, 2, v), head)
	VMULPS(word(0x3c000000), head, head) // 1/128
	VMULPS(head, offset, offset)
	Label(label + "done")
}
