package intgemm

import (
	"fmt"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Tokens of a tile of AMX. A tiling of AMXMinRows tokens or more has no smaller
// tiles, so they need no kernel.
const (
	AMXTokens    = 16 // at most
	AMXMinTokens = 13
	AMXMinRows   = 64
)

// tileGroup is the bytes of 32 columns unpacked for AMX: signed bytes [8][row][4]
// and the scale of each row as float32.
const tileGroup = 8*layout.PanelRows*4 + 4*layout.PanelRows

// HasAMX reports whether UnpackAMX takes the form.
func HasAMX(f layout.Form) bool { return f == layout.Q8 || f == layout.Q4 }

// UnpackedBytes is the number of bytes that UnpackAMX writes.
func UnpackedBytes(groups int) int { return groups * tileGroup }

// UnpackAMX converts groups of 32 columns of a panel for MultiplyAMX. This takes
// little time compared with a product of many tokens.
func UnpackAMX(f layout.Form, panel []byte, groups int, out []byte) {
	if !HasAMX(f) || groups < 0 || len(panel) < f.PanelBytes(groups*layout.GroupCols) || len(out) < UnpackedBytes(groups) {
		panic(fmt.Sprintf("intgemm: %d groups of %s in %d bytes into %d bytes", groups, f, len(panel), len(out)))
	}
	switch {
	case groups == 0:
	case f == layout.Q8:
		unpackTilesQ8AVX512(&panel[0], &out[0], groups)
	default:
		unpackTilesQ4AVX512(&panel[0], &out[0], groups)
	}
}

// MultiplyAMX is Multiply by AMX for several tiles of the same number of tokens,
// AMXMinTokens to AMXTokens, with the same bits. w is from UnpackAMX; x is the first
// tile, in order Rows, and tiles are apart bytes from each other. Row t of y is
// token t of all tiles. The memory in next is prefetched meanwhile.
func MultiplyAMX(w []byte, groups int, x []byte, tokens, tiles, apart int, y []float32, ldy int, add bool, next []byte) {
	if groups < 0 || tokens < AMXMinTokens || tokens > AMXTokens || tiles < 1 || len(w) < UnpackedBytes(groups) || tiles > 1 && apart < 0 ||
		len(x) < (tiles-1)*apart+TileBytes(groups, tokens) || ldy < layout.PanelRows && tiles*tokens > 1 ||
		len(y) < (tiles*tokens-1)*ldy+layout.PanelRows {
		panic(fmt.Sprintf("intgemm: %d groups in %d bytes by %d tiles of %d tokens, %d apart in %d bytes, into %d floats, %d apart",
			groups, len(w), tiles, tokens, apart, len(x), len(y), ldy))
	}
	if groups == 0 {
		if !add {
			clearRows(y, tiles*tokens, ldy)
		}
		return
	}
	const line = 64
	adds, rounds := simd.Flag(add), 2*tiles*groups
	lines := (len(next)/line + rounds - 1) / rounds
	from, bytes := unsafe.SliceData(next), len(next)
	switch tokens { // by name: pointers passed through a func value escape
	case 13:
		tileGemmx13AMX(&w[0], &x[0], &y[0], groups, ldy, adds, tiles, apart, from, bytes, lines)
	case 14:
		tileGemmx14AMX(&w[0], &x[0], &y[0], groups, ldy, adds, tiles, apart, from, bytes, lines)
	case 15:
		tileGemmx15AMX(&w[0], &x[0], &y[0], groups, ldy, adds, tiles, apart, from, bytes, lines)
	case 16:
		tileGemmx16AMX(&w[0], &x[0], &y[0], groups, ldy, adds, tiles, apart, from, bytes, lines)
	}
}
