package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

var constants = map[string]Mem{}

// constant is read-only memory of so many 32-bit words, written once.
func constant(name string, values ...uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL("gemm"+name, RODATA|NOPTR)
	for i, v := range values {
		DATA(4*i, U32(v))
	}
	constants[name] = m
	return m
}

// repeated is a word in 64 bytes.
func repeated(v uint32) []uint32 {
	all := make([]uint32, 16)
	for i := range all {
		all[i] = v
	}
	return all
}

// takeByte is the mask for VPSHUFB that takes byte i of each 32 bits.
func takeByte(i int) Mem {
	var masks []uint32
	for i := range 4 {
		for j := range 16 {
			masks = append(masks, 0x80808000|uint32(j%4*4+i))
		}
	}
	return constant("take", masks...).Offset(64 * i)
}
