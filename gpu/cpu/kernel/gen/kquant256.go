package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// block256 is a kernel at AVX2. It passes over the panel several times, each time
// for so many vectors of 8 rows, from a row on. Sums over groups are on the
// stack.
type block256 struct {
	*blockKernel
	vectors, row int
	stack        reg.GPVirtual
}

func intBlocksAVX2(f blockForm, tokens int) {
	k := &block256{blockKernel: newBlockKernel("AVX2", f, tokens), vectors: 4, stack: GP64()}
	body := k.minimums
	if tokens > 2 {
		k.vectors = 2
	}
	if tokens > 4 {
		k.vectors = 1
	}
	if f.name == "Q6K" {
		body = k.sixBits
		if tokens > 1 {
			k.vectors = 2
		}
		if tokens > 2 {
			k.vectors = 1
		}
	}
	LEAQ(AllocLocal(32*tokens*k.vectors+32), k.stack)
	ADDQ(U8(31), k.stack)
	ANDQ(I8(-32), k.stack)
	passes := 4 / k.vectors
	for pass := range passes {
		label := fmt.Sprintf("pass%d", pass)
		k.row = 8 * k.vectors * pass
		k.begin(label)
		k.loop(label, func() {}, body)
		k.store()
		if pass < passes-1 {
			MOVQ(parameter("w"), k.w)
			MOVQ(parameter("x"), k.x)
			MOVQ(parameter("groups"), k.groups)
		}
		k.fetches.off = true // all has been asked for
	}
	end()
}

func (k *block256) sum(token, vector int) Mem {
	return at(k.stack, 32*(token*k.vectors+vector))
}

// begin starts the sums of a pass at zero or at y.
func (k *block256) begin(label string) {
	v := zero(false)
	for t := range k.tokens {
		for i := range k.vectors {
			VMOVUPS(v, k.sum(t, i))
		}
	}
	add := parameter("add")
	TESTQ(add, add)
	JZ(LabelRef(label))
	k.rows(func(t int, row reg.Register) {
		for i := range k.vectors {
			VMOVUPS(at(row, 4*k.row+32*i), v)
			VMOVUPS(v, k.sum(t, i))
		}
	})
}

// store writes the sums of a pass.
func (k *block256) store() {
	v := YMM()
	k.rows(func(t int, row reg.Register) {
		for i := range k.vectors {
			VMOVUPS(k.sum(t, i), v)
			VMOVUPS(v, at(row, 4*k.row+32*i))
		}
	})
}

// add adds p times the scale of the token's group, x, to a sum.
func (k *block256) add(t, i int, p, x reg.Register) {
	VFMADD213PS(k.sum(t, i), x, p)
	VMOVUPS(p, k.sum(t, i))
}

// each makes a register for each token and vector.
func (k *block256) each() [][]reg.VecVirtual {
	all := make([][]reg.VecVirtual, k.tokens)
	for t := range all {
		for range k.vectors {
			all[t] = append(all[t], YMM())
		}
	}
	return all
}

// byteConstant is a byte in 32 bytes of memory.
func byteConstant(name string, b uint32) Mem { return constant(name, repeated(b*0x01010101)...) }

// scales gives scale and offset of 8 rows. The offset is for -128 sums of
// activations.
func (k *block256) scales(i int) (scale, offset reg.VecVirtual) {
	scale, offset = YMM(), YMM()
	row := k.row + 8*i
	if k.form.name == "Q41" {
		VCVTPH2PS(at(k.w, nibbleBytes+2*row), scale)
		VCVTPH2PS(at(k.w, nibbleBytes+64+2*row), offset)
		VMULPS(constant("turned", repeated(0xbc000000)...), offset, offset) // -1/128
		return scale, offset
	}
	VPMOVZXBD(at(k.w, nibbleBytes+row), scale)
	VPMOVZXBD(at(k.w, nibbleBytes+32+row), offset)
	VCVTDQ2PS(scale, scale)
	VCVTDQ2PS(offset, offset)
	head := YMM()
	VCVTPH2PS(at(k.head, 2*row), head)
	VMULPS(head, scale, scale)
	VCVTPH2PS(at(k.head, 64+2*row), head)
	VMULPS(head, offset, offset)
	VMULPS(constant("lowered", repeated(0x3c000000)...), offset, offset) // 1/128
	return scale, offset
}

// minimums is a group of Q41 or Q4K. Its eight steps add up to at most 16 * 15 *
// 127 in 16 bits, which fits.
func (k *block256) minimums() {
	ints := k.each()
	for step := range 4 {
		k.fetches.fetch(step, 4)
		for i := range k.vectors {
			lo, hi := YMM(), YMM()
			VMOVDQU(at(k.w, 128*step+4*k.row+32*i), lo)
			VPSRLW(U8(4), lo, hi)
			VPAND(byteConstant("low", 0x0f), lo, lo)
			VPAND(byteConstant("low", 0x0f), hi, hi)
			for t := range k.tokens {
				for half, w := range []reg.VecVirtual{lo, hi} {
					x := YMM()
					VPBROADCASTD(k.activation(step+4*half, t), x)
					if step == 0 && half == 0 {
						VPMADDUBSW(x, w, ints[t][i])
						continue
					}
					VPMADDUBSW(x, w, x)
					VPADDW(x, ints[t][i], ints[t][i])
				}
			}
		}
	}
	for i := range k.vectors {
		scale, offset := k.scales(i)
		for t := range k.tokens {
			p, x := YMM(), YMM()
			VPBROADCASTD(k.correction(t), p)
			VCVTDQ2PS(p, p)
			VMULPS(offset, p, p)
			VPMADDWD(constant("ones", repeated(0x00010001)...), ints[t][i], ints[t][i])
			VCVTDQ2PS(ints[t][i], ints[t][i])
			VFMADD231PS(ints[t][i], scale, p)
			VBROADCASTSS(k.scale(t), x)
			k.add(t, i, p, x)
		}
	}
}

// sixBits is a group of Q6K. VPMADDUBSW wants one unsigned factor: it gets the
// magnitudes of the weights, and their signs go to the activations. The four
// steps of a scale add up to at most 8 * 32 * 127 in 16 bits, which fits.
func (k *block256) sixBits() {
	sums := k.each()
	for half := range 2 {
		ints := sums
		if half == 1 {
			ints = k.each()
		}
		for step := range 4 {
			k.fetches.fetch(4*half+step, 8)
			part := step / 2 * q6kPart
			for i := range k.vectors {
				w, magnitude := YMM(), YMM()
				VMOVDQU(at(k.w, part+256+4*k.row+32*i), magnitude)
				switch shift := 4 - 4*(step%2) - 2*half; {
				case shift > 0:
					VPSLLW(U8(shift), magnitude, magnitude)
				case shift < 0:
					VPSRLW(U8(-shift), magnitude, magnitude)
				}
				VPAND(byteConstant("high", 0x30), magnitude, magnitude)
				VMOVDQU(at(k.w, part+step%2*128+4*k.row+32*i), w)
				if half == 1 {
					VPSRLW(U8(4), w, w)
				}
				VPAND(byteConstant("low", 0x0f), w, w)
				VPOR(magnitude, w, w)
				VPSUBB(byteConstant("offset", 0x20), w, w)
				VPABSB(w, magnitude)
				for t := range k.tokens {
					x := YMM()
					VPBROADCASTD(k.activation(step+4*half, t), x)
					VPSIGNB(w, x, x)
					if step == 0 {
						VPMADDUBSW(x, magnitude, ints[t][i])
						continue
					}
					VPMADDUBSW(x, magnitude, x)
					VPADDW(x, ints[t][i], ints[t][i])
				}
			}
		}
		for i := range k.vectors {
			scale, upper := YMM(), YMM()
			VPMOVSXBD(at(k.w, q6kScales+32*half+k.row+8*i), scale)
			VPSLLD(U8(16), scale, upper)
			VPBLENDW(U8(0xaa), upper, scale, scale) // twice as 16 bits
			for t := range k.tokens {
				VPMADDWD(scale, ints[t][i], ints[t][i])
				if half == 1 {
					VPADDD(ints[t][i], sums[t][i], sums[t][i])
				}
			}
		}
	}
	for i := range k.vectors {
		d := YMM()
		VCVTPH2PS(at(k.head, 2*(k.row+8*i)), d)
		for t := range k.tokens {
			factor := YMM()
			VBROADCASTSS(k.scale(t), factor)
			VMULPS(d, factor, factor)
			VCVTDQ2PS(sums[t][i], sums[t][i])
			k.add(t, i, sums[t][i], factor)
		}
	}
}
