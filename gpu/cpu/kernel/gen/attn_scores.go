package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// scores is q.k for some queries and the positions of some runs: positions in
// lanes, summed over dimensions in order. A vector of keys is loaded once for all
// queries. AVX-512 takes two runs at a time, AVX2 the halves of one.
func scores(v lanes) {
	v.function("scores", "func(form int, q *float32, ldq int, rows int, keys *byte, runs *int, count int, dim int, out *float32)",
		"multiplies rows of q, ldq bytes apart, with the keys of count runs (an even number): out[r][16i+j], rows 256 bytes apart.")
	v.eachRows(func(b attentionRows) {
		ldq, runs, out, count, dim := GP64(), GP64(), GP64(), GP64(), GP64()
		reload("ldq", ldq)
		reload("runs", runs)
		reload("out", out)
		reload("count", count)
		q := newRowAddresses(b.rows, ldq)
		parts := []gpr{GP64()} // where keys are loaded from
		ahead := []gpr{GP64()}
		if v.wide {
			parts, ahead = append(parts, GP64()), append(ahead, GP64())
		}

		Label(b.label("runs"))
		for i := range parts {
			MOVQ(at(runs, runEntry*i), parts[i])
			ADDQ(argument("keys"), parts[i])
			MOVQ(at(runs, runEntry*i+8), ahead[i])
			ADDQ(argument("keys"), ahead[i])
		}
		q.from("q")
		for _, half := range b.sums {
			for _, s := range half {
				VXORPS(s.AsX(), s.AsX(), s.AsX())
			}
		}
		reload("dim", dim)
		b.eachForm("dims", func(form string, bytes int, label func(string) string) {
			scoresOverDims(b, form, runSlots*bytes, q, parts, ahead, dim, label)
		})
		for r := range b.rows {
			VMOVUPS(b.sums[0][r], at(out, blockBytes*r))
			VMOVUPS(b.sums[1][r], at(out, blockBytes*r+v.bytes()))
		}
		ADDQ(U32(2*v.bytes()), out)
		ADDQ(U32(runEntry*len(parts)), runs)
		SUBQ(U8(len(parts)), count)
		JNZ(LabelRef(b.label("runs")))
	})
}

// scoresOverDims adds up over dimensions of column bytes in a run. With few rows a cache
// line of keys is unrolled; with more, a single dimension is enough work for an iteration.
func scoresOverDims(b attentionRows, form string, column int, q rowAddresses, parts, ahead []gpr, dim gpr, label func(string) string) {
	dimensions := func(n int) {
		for i := range n {
			b.multiply(func(half int, r vec) {
				if b.wide {
					b.widened(form, at(parts[half], column*i), r)
				} else {
					b.widened(form, at(parts[0], column*i+column/2*half), r)
				}
			}, func(row int) Mem { return q.row(row, 4*i) })
		}
		advance(4*n, q.bases...)
		for _, p := range parts {
			ADDQ(U32(column*n), p)
		}
	}
	fetch := func(bytes int) {
		for _, a := range ahead {
			PREFETCHT0(at(a, 0))
			ADDQ(U8(bytes), a)
		}
	}
	line := 64 / column // dimensions in a line of keys
	if line == 1 || b.rows > fewRows {
		loop(label("dim"), dim, func() {
			fetch(column)
			dimensions(1)
		})
		return
	}
	Label(label("lines"))
	SUBQ(U8(line), dim)
	JLT(LabelRef(label("rest")))
	fetch(64)
	dimensions(line)
	JMP(LabelRef(label("lines")))
	Label(label("rest"))
	ADDQ(U8(line), dim)
	JZ(LabelRef(b.label("dimsdone")))
	loop(label("single"), dim, func() { dimensions(1) })
}

// fewRows is the most rows for which loops of single dimensions are slower (AVX2: 3 %).
const fewRows = 4
