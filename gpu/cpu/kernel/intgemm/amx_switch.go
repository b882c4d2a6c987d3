package intgemm

import "unsafe"

// tileGemmAMX calls by name, so that callers' buffers stay on their stacks.
func tileGemmAMX(w, x []byte, y []float32, groups, tokens, ldy, add, tiles, apart int, next []byte, lines int) {
	from, bytes := unsafe.SliceData(next), len(next)
	switch tokens {
	case 1:
		tileGemmx1AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 2:
		tileGemmx2AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 3:
		tileGemmx3AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 4:
		tileGemmx4AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 5:
		tileGemmx5AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 6:
		tileGemmx6AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 7:
		tileGemmx7AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 8:
		tileGemmx8AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 9:
		tileGemmx9AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 10:
		tileGemmx10AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 11:
		tileGemmx11AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 12:
		tileGemmx12AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 13:
		tileGemmx13AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 14:
		tileGemmx14AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 15:
		tileGemmx15AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	case 16:
		tileGemmx16AMX(&w[0], &x[0], &y[0], groups, ldy, add, tiles, apart, from, bytes, lines)
	}
}
