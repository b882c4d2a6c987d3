package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Neither Go's assembler nor avo supports AMX, so its instructions are written as
// bytes (Intel's Software Developer's Manual, volume 2, tile instructions).
// Addresses are two registers, base + stride, and a displacement; tiles are 0 to 7.

// code writes the bytes of an instruction that reads some registers.
func code(reads []Op, bytes ...byte) {
	write := func(opcode string, bits Constant) {
		Instruction(&ir.Instruction{Opcode: opcode, Operands: []Op{bits}, Inputs: reads})
		bytes = bytes[bits.Bytes():]
	}
	for len(bytes) > 0 {
		switch {
		case len(bytes) >= 8:
			write("QUAD", U64(binary.LittleEndian.Uint64(bytes)))
		case len(bytes) >= 4:
			write("LONG", U32(binary.LittleEndian.Uint32(bytes)))
		case len(bytes) >= 2:
			write("WORD", U16(binary.LittleEndian.Uint16(bytes)))
		default:
			write("BYTE", U8(bytes[0]))
		}
	}
}

// number is the encoding of a general register.
func number(r reg.Physical) byte { return byte(r.PhysicalIndex()) }

// tileMemory is TILELOADD or TILESTORED.
func tileMemory(prefix, tile byte, base, stride reg.Physical, disp int) {
	b, x := number(base), number(stride)
	// Bits that extend the registers of the address are stored inverted.
	second := byte(0xe2) ^ b>>3<<5 ^ x>>3<<6
	d := uint32(disp)
	code([]Op{base, stride}, 0xc4, second, prefix, 0x4b, 0x84|tile<<3, x&7<<3|b&7,
		byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
}

// tileLoad loads rows that are stride bytes apart.
func tileLoad(tile byte, base, stride reg.Physical, disp int) {
	tileMemory(0x7b, tile, base, stride, disp)
}

func tileStore(tile byte, base, stride reg.Physical, disp int) {
	tileMemory(0x7a, tile, base, stride, disp)
}

func tileZero(tile byte) { code(nil, 0xc4, 0xe2, 0x7b, 0x49, 0xc0|tile<<3) }

// tileProduct is TDPBSSD: sum += a times b, signed bytes, four to a lane.
func tileProduct(sum, a, b byte) { code(nil, 0xc4, 0xe2, ^b&15<<3|3, 0x5e, 0xc0|sum<<3|a) }

// tileConfigure is LDTILECFG of the 64 bytes at p.
func tileConfigure(p reg.Physical) {
	code([]Op{p}, 0xc4, 0xe2^number(p)>>3<<5, 0x78, 0x49, number(p)&7)
}

func tileRelease() { code(nil, 0xc4, 0xe2, 0x78, 0x49, 0xc0) }
