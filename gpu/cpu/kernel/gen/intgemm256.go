package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tokens of a tile at most at AVX2, which has half as many registers.
const intTileAVX2 = 6

// int256 is a kernel at AVX2. It passes over the panel several times, each time
// for vectors of 8 rows, as many as have registers for a tile's integer sums.
type int256 struct {
	*intKernel
	vectors int
	// scales points to the float16 of a pass in a group.
	scales reg.GPVirtual
	// sums over groups of a pass, [token][vector]: one token's are in registers.
	registers []reg.VecVirtual
	stack     reg.GPVirtual
	constant  reg.VecVirtual // of the kind of product
}

// intGemmAVX2 has passes over a panel.
func intGemmAVX2(q4 bool, tokens int) {
	k := &int256{intKernel: newIntKernel("AVX2", q4, tokens), vectors: 4}
	if tokens > 2 {
		k.vectors = 2
	}
	if tokens > 4 {
		k.vectors = 1
	}
	f := k.fetcher()
	if tokens == 1 {
		for range k.vectors {
			k.registers = append(k.registers, YMM())
		}
	} else {
		k.stack = GP64()
		LEAQ(AllocLocal(32*tokens*k.vectors+32), k.stack)
		ADDQ(U8(31), k.stack)
		ANDQ(I8(-32), k.stack)
	}
	ones := words(1)
	k.constant = words(0x8080)
	if q4 {
		k.constant = words(0x0f0f)
	}
	w, scale, passes := GP64(), GP64(), GP64()
	MOVQ(k.w, w)
	LEAQ(at(w, k.groupBytes()-scales), scale)
	MOVQ(U32(uint32(4/k.vectors)), passes)
	k.scales = GP64()

	Label("pass")
	MOVQ(w, k.w)
	MOVQ(scale, k.scales)
	k.x, k.groups = parameter("x"), parameter("groups")
	k.begin()
	Label("group")
	f.begin()
	var ints [][]reg.VecVirtual
	if q4 {
		ints = k.nibbles(f, ones)
	} else {
		ints = k.bytes(f, ones)
	}
	f.fetch(1)
	k.scaleAndAdd(ints)
	ADDQ(U32(uint32(k.groupBytes())), k.scales)
	k.next()
	k.end()
	ADDQ(U8(uint8(32*k.vectors)), w)
	ADDQ(U8(uint8(16*k.vectors)), scale)
	ADDQ(U8(uint8(32*k.vectors)), k.y)
	XORQ(f.left, f.left) // all has been asked for
	DECQ(passes)
	JNZ(LabelRef("pass"))
	end()
}

// words fills a register with a 16-bit word.
func words(w uint32) reg.VecVirtual {
	r, v := GP32(), YMM()
	MOVL(U32(w|w<<16), r)
	VMOVD(r, v.AsX())
	VPBROADCASTD(v.AsX(), v)
	return v
}

func (k *int256) each(do func(token, vector int)) {
	for t := range k.tokens {
		for v := range k.vectors {
			do(t, v)
		}
	}
}

func (k *int256) sum(token, vector int) Mem {
	return at(k.stack, 32*(token*k.vectors+vector))
}

// begin starts the sums of a pass at zero or at y.
func (k *int256) begin() {
	none := zero(false)
	k.each(func(t, v int) {
		if k.stack == nil {
			VMOVAPS(none, k.registers[v])
		} else {
			VMOVUPS(none, k.sum(t, v))
		}
	})
	add := parameter("add")
	TESTQ(add, add)
	JZ(LabelRef("group"))
	k.rows(func(t int, row reg.Register) {
		for v := range k.vectors {
			if k.stack == nil {
				VMOVUPS(at(row, 32*v), k.registers[v])
				continue
			}
			VMOVUPS(at(row, 32*v), none)
			VMOVUPS(none, k.sum(t, v))
		}
	})
}

// end writes the sums of a pass.
func (k *int256) end() {
	k.rows(func(t int, row reg.Register) {
		for v := range k.vectors {
			sum := YMM()
			if k.stack == nil {
				sum = k.registers[v]
			} else {
				VMOVUPS(k.sum(t, v), sum)
			}
			VMOVUPS(sum, at(row, 32*v))
		}
	})
}

// bytes are the integer sums of a group of Q8. VPMADDUBSW wants one unsigned
// factor and saturates beyond 16 bits, which twice 255 * 127 would be: it gets
// the magnitudes of the weights without their offset, and their signs go to the
// activations. Twice 128 * 127 fits. So the correction is not needed.
func (k *int256) bytes(f *fetcher, ones reg.VecVirtual) [][]reg.VecVirtual {
	ints := k.ints()
	for step := range 8 {
		f.fetch(2)
		for v := range k.vectors {
			w, magnitude := YMM(), YMM()
			VPXOR(at(k.w, 128*step+32*v), k.constant, w)
			VPABSB(w, magnitude)
			for t := range k.tokens {
				x := YMM()
				VPBROADCASTD(k.activation(step, t), x)
				VPSIGNB(w, x, x)
				VPMADDUBSW(x, magnitude, x)
				if step == 0 {
					VPMADDWD(ones, x, ints[t][v])
					continue
				}
				VPMADDWD(ones, x, x)
				VPADDD(x, ints[t][v], ints[t][v])
			}
		}
	}
	return ints
}

// nibbles are the integer sums of a group of Q4. Its eight steps add up to at
// most 16 * 15 * 127 in 16 bits, which fits.
func (k *int256) nibbles(f *fetcher, ones reg.VecVirtual) [][]reg.VecVirtual {
	ints := k.ints()
	for step := range 4 {
		f.fetch(2)
		for v := range k.vectors {
			lo, hi := YMM(), YMM()
			VMOVDQU(at(k.w, 128*step+32*v), lo)
			VPSRLW(U8(4), lo, hi)
			VPAND(k.constant, lo, lo)
			VPAND(k.constant, hi, hi)
			for t := range k.tokens {
				for i, w := range []reg.VecVirtual{lo, hi} {
					x := YMM()
					VPBROADCASTD(k.activation(step+4*i, t), x)
					if step == 0 && i == 0 {
						VPMADDUBSW(x, w, ints[t][v])
						continue
					}
					VPMADDUBSW(x, w, x)
					VPADDW(x, ints[t][v], ints[t][v])
				}
			}
		}
	}
	for t := range k.tokens {
		correction := YMM()
		VPBROADCASTD(k.correction(t), correction)
		VPSRAD(U8(4), correction, correction)
		for v := range k.vectors {
			VPMADDWD(ones, ints[t][v], ints[t][v])
			VPADDD(correction, ints[t][v], ints[t][v])
		}
	}
	return ints
}

func (k *int256) ints() [][]reg.VecVirtual {
	ints := make([][]reg.VecVirtual, k.tokens)
	for t := range ints {
		for range k.vectors {
			ints[t] = append(ints[t], YMM())
		}
	}
	return ints
}

// scaleAndAdd adds a group to the sums.
func (k *int256) scaleAndAdd(ints [][]reg.VecVirtual) {
	for v := range k.vectors {
		w := YMM()
		VCVTPH2PS(at(k.scales, 16*v), w)
		for t := range k.tokens {
			factor := YMM()
			VBROADCASTSS(k.scale(t), factor)
			VMULPS(w, factor, factor)
			VCVTDQ2PS(ints[t][v], ints[t][v])
			if k.stack == nil {
				VFMADD231PS(factor, ints[t][v], k.registers[v])
				continue
			}
			VFMADD213PS(k.sum(t, v), factor, ints[t][v])
			VMOVUPS(ints[t][v], k.sum(t, v))
		}
	}
}
