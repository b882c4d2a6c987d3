package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows of a tile register at most: tokens that are multiplied at once.
const tileRows = 16

// A group as tiles read it: signed weights, and the scales of 32 rows as
// float32 behind them.
const tileGroup = q8Weights + 2*scales

// amx writes products of integers by AMX.
func amx() {
	configurations := tileConfigurations()
	for tokens := 1; tokens <= tileRows; tokens++ {
		tileGemm(tokens, configurations)
	}
	spread(false)
	spread(true)
}

// Tile registers: sums, activations, weights.
const (
	sumsTile, actsTile, weightsTile = 0, 1, 2
	nextTiles                       = 3 // those of the other place
)

// tileConfigurations is what LDTILECFG loads for each number of tokens.
func tileConfigurations() Mem {
	const (
		palette  = 0
		rowBytes = 16 // 2 bytes for each tile
		rows     = 48 // 1 byte for each tile
	)
	table := GLOBL("tileConfigurations", RODATA|NOPTR)
	for tokens := 1; tokens <= tileRows; tokens++ {
		var c [64]byte
		c[palette] = 1
		for tile, shape := range map[int][2]byte{sumsTile: {byte(tokens), 64}, actsTile: {byte(tokens), 32}, weightsTile: {8, 64}} {
			for place := range 2 {
				tile := tile + nextTiles*place
				c[rows+tile], c[rowBytes+2*tile] = shape[0], shape[1]
			}
		}
		for i := 0; i < 64; i += 8 {
			var word uint64
			for k := range 8 {
				word |= uint64(c[i+k]) << (8 * k)
			}
			DATA(64*(tokens-1)+i, U64(word))
		}
	}
	return table
}

// tileGemm multiplies sixteen rows of a panel at a time with each tile of
// tokens. While the sums of one group are scaled, those of the next travel to
// memory and those of the one after it are multiplied: a tile register can be
// read by way of memory only, and there it is not to be had at once.
//
// While tiles are multiplied one port is left for multiplications of float32
// and conversions. So integers become floats by an addition and a subtraction:
// 1.5 * 2^23 + n is exact for |n| < 2^22, and a group's sum is at most
// 32 * 128 * 127.
func tileGemm(tokens int, configurations Mem) {
	name := fmt.Sprintf("tileGemmx%dAMX", tokens)
	TEXT(name, 0, "func(w, x *byte, y *float32, groups, ldy, add, tiles, apart int, fetch *byte, fetchBytes, lines int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies one panel with tiles of %d tokens; see TileGemm.", name, tokens))

	w, x := reg.RSI, reg.RDI // of the next product
	c := reg.R8              // where its sums go
	rowW, rowX, rowC := reg.RBX, reg.RDX, reg.RCX
	config := reg.RAX
	LEAQ(configurations.Offset(64*(tokens-1)), config)
	tileConfigure(config)
	MOVQ(U32(128), rowW)
	MOVQ(U32(32), rowX)
	MOVQ(U32(64), rowC)
	// Two places for sums, which an exclusive or exchanges.
	LEAQ(AllocLocal(4*tileRows*64), c)
	ADDQ(U32(2*tileRows*64-1), c)
	ANDQ(I32(-2*tileRows*64), c)

	magic := ZMM()
	bits := GP32()
	MOVL(U32(0x4b400000), bits)
	VPBROADCASTD(bits, magic)
	fetch := parameter("fetch")
	// Where the argument was stands the end, which is no pointer for Go: it may
	// lie behind what memory there is.
	ADDQ(fetch, argument("fetchBytes"))

	product := func(place byte) {
		t := nextTiles * place
		tileZero(sumsTile + t)
		tileLoad(actsTile+t, x, rowX, 0)
		tileLoad(weightsTile+t, w, rowW, 0)
		tileProduct(sumsTile+t, actsTile+t, weightsTile+t)
		ADDQ(U32(tileGroup), w)
		ADDQ(U32(uint32(40*tokens)), x)
	}
	store := func(place byte) { tileStore(sumsTile+nextTiles*place, c, rowC, int(place)*tileRows*64) }
	sums := make([]reg.VecVirtual, tokens)
	for t := range sums {
		sums[t] = ZMM()
	}
	y, half := parameter("y"), GP64()
	eachRow := func(do func(t int, at Mem)) {
		row, ldy := GP64(), parameter("ldy")
		MOVQ(y, row)
		for t := range tokens {
			do(t, at(row, 0))
			if t < tokens-1 {
				LEAQ(Mem{Base: row, Index: ldy, Scale: 4}, row)
			}
		}
	}
	ws, xs, left := GP64(), GP64(), GP64() // of the group that is scaled

	Label("tile")
	MOVQ(U32(0), half)
	Label("half")
	Load(Param("w"), ws)
	ADDQ(half, ws)
	MOVQ(ws, w)
	Load(Param("x"), xs)
	MOVQ(xs, x)
	for t := range sums {
		clearVector(true, sums[t])
	}
	add := parameter("add")
	TESTQ(add, add)
	JZ(LabelRef("begin"))
	eachRow(func(t int, row Mem) { VMOVUPS(row, sums[t]) })
	Label("begin")
	Load(Param("groups"), left)
	product(0)
	store(0)
	CMPQ(left, U8(1))
	JE(LabelRef("group"))
	product(1)
	Label("group")
	for place := range byte(2) {
		name := func(s string) string { return fmt.Sprint(s, place) }
		CMPQ(left, U8(2))
		JL(LabelRef(name("ahead")))
		store(1 - place)
		CMPQ(left, U8(2))
		JE(LabelRef(name("ahead")))
		product(place)
		Label(name("ahead"))
		want := parameter("lines")
		Label(name("fetch"))
		DECQ(want)
		JS(LabelRef(name("fetched")))
		CMPQ(fetch, argument("fetchBytes"))
		JAE(LabelRef(name("fetched")))
		PREFETCHT1(at(fetch, 0))
		ADDQ(U8(64), fetch)
		JMP(LabelRef(name("fetch")))
		Label(name("fetched"))
		scale := ZMM()
		VMOVUPS(at(ws, q8Weights), scale)
		for t := range sums {
			factor, n := ZMM(), ZMM()
			VMULPS_BCST(at(xs, 36*tokens+4*t), scale, factor)
			VPADDD(at(c, int(place)*tileRows*64+64*t), magic, n)
			VSUBPS(magic, n, n)
			VFMADD231PS(factor, n, sums[t])
		}
		ADDQ(U32(tileGroup), ws)
		ADDQ(U32(uint32(40*tokens)), xs)
		DECQ(left)
		if place == 0 {
			JZ(LabelRef("done"))
		} else {
			JNZ(LabelRef("group"))
		}
	}
	Label("done")
	eachRow(func(t int, row Mem) { VMOVUPS(sums[t], row) })
	ADDQ(U8(64), y)
	XORQ(U32(64), half)
	JNZ(LabelRef("half"))
	SUBQ(U32(128), y)
	rows := parameter("ldy")
	IMUL3Q(U8(4*tokens), rows, rows)
	ADDQ(rows, y)
	apart := parameter("apart")
	ADDQ(apart, argument("x"))
	DECQ(argument("tiles"))
	JNZ(LabelRef("tile"))
	tileRelease()
	end()
}

// argument is the place of an argument.
func argument(name string) Mem {
	a, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}

// spread writes groups of a panel as tiles read them.
func spread(q4 bool) {
	name, bytes := "spreadQ8AVX512", q8Weights
	if q4 {
		name, bytes = "spreadQ4AVX512", q4Weights
	}
	TEXT(name, NOSPLIT, "func(w, out *byte, groups int)")
	Pragma("noescape")
	Doc(name + " writes signed weights and scales of float32; see SpreadGroups.")
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
	Label("group")
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
	DECQ(groups)
	JNZ(LabelRef("group"))
	end()
}
