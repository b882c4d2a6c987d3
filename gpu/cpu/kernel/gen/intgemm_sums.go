package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// stored is a vector of sums over groups on the stack.
func (k *intKernel) stored(token, vector int) Mem {
	m := at(k.stack, intScratch+k.bytes()*(token*k.vectors+vector))
	if k.half != nil {
		m.Index, m.Scale = k.half, 4
	}
	return m
}

// begin sets the sums of a pass to zero or to y.
func (k *intKernel) begin() {
	if k.inRegisters {
		k.loadSums(k.step)
		return
	}
	v := k.vector("x", 0)
	k.clear(v)
	k.tokenLoop("begin", func(row, sums register) {
		skip := k.name + "zero"
		CMPQ(argument("add"), U8(0))
		JEQ(LabelRef(skip))
		for i := range k.vectors {
			r := k.vector("y", i)
			VMOVUPS(k.rows(row, 0, 4, i), r)
			VMOVUPS(r, at(sums, k.bytes()*i))
		}
		next := k.name + "beginnext"
		JMP(LabelRef(next))
		Label(skip)
		for i := range k.vectors {
			VMOVUPS(v, at(sums, k.bytes()*i))
		}
		Label(next)
	})
}

// end writes the sums of a pass to y.
func (k *intKernel) end() {
	if k.inRegisters {
		k.storeSums(k.step)
		return
	}
	k.tokenLoop("end", func(row, sums register) {
		for i := range k.vectors {
			r := k.vector("y", i)
			VMOVUPS(at(sums, k.bytes()*i), r)
			VMOVUPS(r, k.rows(row, 0, 4, i))
		}
	})
}

// tokenLoop repeats a body for the row of y and the sums of each token.
func (k *intKernel) tokenLoop(label string, body func(row, sums register)) {
	row, ldy, sums := k.step, GP64(), GP64()
	reload("y", row)
	reload("ldy", ldy)
	MOVQ(U32(uint32(k.tokens)), k.inner)
	LEAQ(at(k.stack, intScratch), sums)
	loop(k.name+label, k.inner, func() {
		body(row, sums)
		LEAQ(Mem{Base: row, Index: ldy, Scale: 4}, row)
		ADDQ(U32(uint32(k.bytes()*k.vectors)), sums)
	})
}

// ints are registers for the integer sums of a group, [token][vector].
func (k *intKernel) ints(name string) [][]vec {
	all := make([][]vec, k.tokens)
	for t := range all {
		for v := range k.vectors {
			all[t] = append(all[t], k.vector(name, t*k.vectors+v))
		}
	}
	return all
}

// add adds product*factor to a sum over groups; it may change product.
func (k *intKernel) add(token, vector int, product, factor register) {
	if k.inRegisters {
		VFMADD231PS(factor, product, k.sum(token, vector))
		return
	}
	VFMADD213PS(k.stored(token, vector), factor, product)
	VMOVUPS(product, k.stored(token, vector))
}
