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
	m := GLOBL(name, RODATA|NOPTR)
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
