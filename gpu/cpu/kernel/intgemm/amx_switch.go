package intgemm

import "unsafe"

// tileGemmAMX calls by name: pointers passed through a func value escape.
func tileGemmAMX(w, x []byte, y []float32, groups, tokens, ldy, add, tiles, apart int, next []byte, lines int) {
	from, bytes := unsafe.SliceData(next), len(next)
	switch tokens {
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
