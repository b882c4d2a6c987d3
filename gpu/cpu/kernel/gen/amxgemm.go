package main

import (
	"encoding/binary"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tokens of a tile: from intgemm.AMXMinTokens to the number of rows of a tile register.
const (
	tileRows    = 16
	leastTokens = 13
)

// tileGroup is a group of weights in tiles: signed bytes, then 32 scales in float32.
const tileGroup = q8Weights + 2*scales

func amx() {
	configurations := tileConfigurations()
	for tokens := leastTokens; tokens <= tileRows; tokens++ {
		tileGemm(tokens, configurations)
	}
	unpackTiles(false)
	unpackTiles(true)
}

// Tile registers: sums, activations, weights.
const (
	sumsTile, actsTile, weightsTile = 0, 1, 2
	nextTiles                       = 3 // added for the other place
)

// tileConfigurations is what LDTILECFG loads for each number of tokens.
func tileConfigurations() Mem {
	const (
		palette  = 0
		rowBytes = 16 // 2 bytes for each tile
		rows     = 48 // 1 byte for each tile
	)
	var all []U64
	for tokens := leastTokens; tokens <= tileRows; tokens++ {
		var c [64]byte
		c[palette] = 1
		for tile, shape := range map[int][2]byte{sumsTile: {byte(tokens), 64}, actsTile: {byte(tokens), 32}, weightsTile: {8, 64}} {
			for place := range 2 {
				tile := tile + nextTiles*place
				c[rows+tile], c[rowBytes+2*tile] = shape[0], shape[1]
			}
		}
		for i := 0; i < 64; i += 8 {
			all = append(all, U64(binary.LittleEndian.Uint64(c[i:])))
		}
	}
	return table("tileConfigurations", all)
}

// tileKernel multiplies a panel, sixteen rows at a time, by each tile of tokens. While
// the sums of one group are scaled, those of the next group are stored and the one after
// it is multiplied: a tile register can only be read through memory, which takes time.
type tileKernel struct {
	tokens int
	// Of the next product: weights, activations, and memory for its sums. Sums have
	// two places, which groups use in turns.
	w, x, c          reg.GPPhysical
	rowW, rowX, rowC reg.GPPhysical // bytes from row to row
	// Of the group that is scaled.
	ws, xs, left gpr
	y, half      gpr
	fetch        gpr
	magic        vec
	sums         []vec // of the tile's tokens over groups
}

func tileGemm(tokens int, configurations Mem) {
	name := fmt.Sprintf("tileGemmx%dAMX", tokens)
	largeFunction(name, "func(w, x *byte, y *float32, groups, ldy, add, tiles, apart int, fetch *byte, fetchBytes, lines int)",
		fmt.Sprintf("multiplies one panel by tiles of %d tokens; see MultiplyAMX.", tokens))
	k := &tileKernel{tokens: tokens, w: reg.RSI, x: reg.RDI, c: reg.R8, rowW: reg.RBX, rowX: reg.RDX, rowC: reg.RCX}
	k.setUp(configurations.Offset(64 * (tokens - leastTokens)))

	loop("tile", argument("tiles"), func() {
		MOVQ(U32(0), k.half)
		Label("half")
		k.begin()
		Label("group")
		for place := range byte(2) {
			k.ahead(place)
			k.fetchLines(place)
			k.scale(place)
			DECQ(k.left)
			if place == 0 {
				JZ(LabelRef("done"))
			} else {
				JNZ(LabelRef("group"))
			}
		}
		Label("done")
		k.eachRow(func(t int, row Mem) { VMOVUPS(k.sums[t], row) })
		ADDQ(U8(64), k.y)
		XORQ(U32(64), k.half)
		JNZ(LabelRef("half"))
		SUBQ(U32(128), k.y)
		rows := parameter("ldy")
		IMUL3Q(U8(4*tokens), rows, rows)
		ADDQ(rows, k.y)
		apart := parameter("apart")
		ADDQ(apart, argument("x"))
	})
	tileRelease()
	end()
}

// setUp loads the configuration and what stays in registers.
func (k *tileKernel) setUp(configuration Mem) {
	config := reg.RAX
	LEAQ(configuration, config)
	tileConfigure(config)
	MOVQ(U32(128), k.rowW)
	MOVQ(U32(32), k.rowX)
	MOVQ(U32(64), k.rowC)
	LEAQ(AllocLocal(4*tileRows*64), k.c)
	ADDQ(U32(2*tileRows*64-1), k.c)
	ANDQ(I32(-2*tileRows*64), k.c)
	k.magic = ZMM()
	bits := GP32()
	MOVL(U32(0x4b400000), bits)
	VPBROADCASTD(bits, k.magic)
	k.fetch = parameter("fetch")
	// From now on the argument's slot holds the end. Go does not treat it as
	// a pointer, because it may be past the end of the memory.
	ADDQ(k.fetch, argument("fetchBytes"))
	k.sums = avx512.regs(k.tokens)
	k.y, k.half = parameter("y"), GP64()
	k.ws, k.xs, k.left = GP64(), GP64(), GP64()
}

// begin sets the sums to zero or to y and multiplies the first two groups.
func (k *tileKernel) begin() {
	Load(Param("w"), k.ws)
	ADDQ(k.half, k.ws)
	MOVQ(k.ws, k.w)
	Load(Param("x"), k.xs)
	MOVQ(k.xs, k.x)
	for _, s := range k.sums {
		avx512.clear(s)
	}
	add := parameter("add")
	TESTQ(add, add)
	JZ(LabelRef("begin"))
	k.eachRow(func(t int, row Mem) { VMOVUPS(row, k.sums[t]) })
	Label("begin")
	Load(Param("groups"), k.left)
	k.product(0)
	k.store(0)
	CMPQ(k.left, U8(1))
	JE(LabelRef("group"))
	k.product(1)
}

// eachRow calls do for the row of y of each token.
func (k *tileKernel) eachRow(do func(t int, at Mem)) {
	row, ldy := GP64(), parameter("ldy")
	MOVQ(k.y, row)
	for t := range k.tokens {
		do(t, at(row, 0))
		if t < k.tokens-1 {
			LEAQ(Mem{Base: row, Index: ldy, Scale: 4}, row)
		}
	}
}

// product multiplies the next group into the sums of a place.
func (k *tileKernel) product(place byte) {
	t := nextTiles * place
	tileZero(sumsTile + t)
	tileLoad(actsTile+t, k.x, k.rowX, 0)
	tileLoad(weightsTile+t, k.w, k.rowW, 0)
	tileProduct(sumsTile+t, actsTile+t, weightsTile+t)
	ADDQ(U32(tileGroup), k.w)
	ADDQ(U32(uint32(40*k.tokens)), k.x)
}

// store writes the sums of a place to memory.
func (k *tileKernel) store(place byte) {
	tileStore(sumsTile+nextTiles*place, k.c, k.rowC, int(place)*tileRows*64)
}

// ahead stores the sums of the next group and multiplies the one after it, if they exist.
func (k *tileKernel) ahead(place byte) {
	end := fmt.Sprint("ahead", place)
	CMPQ(k.left, U8(2))
	JL(LabelRef(end))
	k.store(1 - place)
	CMPQ(k.left, U8(2))
	JE(LabelRef(end))
	k.product(place)
	Label(end)
}

// fetchLines prefetches some lines of the memory that is read next.
func (k *tileKernel) fetchLines(place byte) {
	loop, end := fmt.Sprint("fetch", place), fmt.Sprint("fetched", place)
	want := parameter("lines")
	Label(loop)
	DECQ(want)
	JS(LabelRef(end))
	CMPQ(k.fetch, argument("fetchBytes"))
	JAE(LabelRef(end))
	PREFETCHT1(at(k.fetch, 0))
	ADDQ(U8(64), k.fetch)
	JMP(LabelRef(loop))
	Label(end)
}

// scale adds a group to the sums. Tiles leave one port for multiplications of float32 and
// conversions, so integers become floats by an addition and a subtraction: 1.5 * 2^23 + n
// is exact for |n| < 2^22, and a group's sum is at most 32 * 128 * 127.
func (k *tileKernel) scale(place byte) {
	scale := ZMM()
	VMOVUPS(at(k.ws, q8Weights), scale)
	for t, sum := range k.sums {
		factor, n := ZMM(), ZMM()
		VMULPS_BCST(at(k.xs, 36*k.tokens+4*t), scale, factor)
		VPADDD(at(k.c, int(place)*tileRows*64+64*t), k.magic, n)
		VSUBPS(k.magic, n, n)
		VFMADD231PS(factor, n, sum)
	}
	ADDQ(U32(tileGroup), k.ws)
	ADDQ(U32(uint32(40*k.tokens)), k.xs)
}

// unpackTiles writes groups of a panel as tiles read them.
func unpackTiles(q4 bool) {
	name, bytes := "unpackTilesQ8AVX512", q8Weights
	if q4 {
		name, bytes = "unpackTilesQ4AVX512", q4Weights
	}
	function(name, "func(w, out *byte, groups int)", "writes signed weights and scales of float32; see UnpackAMX.")
	w, out, groups := parameter("w"), parameter("out"), parameter("groups")
	offset, low := ZMM(), ZMM()
	r := GP32()
	MOVL(U32(0x80808080), r)
	if q4 {
		MOVL(U32(0x08080808), r)
	}
	VPBROADCASTD(r, offset)
	if q4 {
		MOVL(U32(0x0f0f0f0f), r)
		VPBROADCASTD(r, low)
	}
	loop("group", groups, func() {
		for i := 0; i < bytes; i += 64 {
			v := ZMM()
			VMOVDQU64(at(w, i), v)
			if !q4 {
				VPXORD(offset, v, v)
				VMOVDQU64(v, at(out, i))
				continue
			}
			high := ZMM()
			VPSRLW(U8(4), v, high)
			VPANDD(low, v, v)
			VPANDD(low, high, high)
			VPSUBB(offset, v, v)
			VPSUBB(offset, high, high)
			VMOVDQU64(v, at(out, i))
			VMOVDQU64(high, at(out, i+bytes))
		}
		for h := range 2 {
			v := ZMM()
			VCVTPH2PS(at(w, bytes+32*h), v)
			VMOVUPS(v, at(out, q8Weights+64*h))
		}
		ADDQ(U32(uint32(bytes+scales)), w)
		ADDQ(U32(tileGroup), out)
	})
	end()
}
