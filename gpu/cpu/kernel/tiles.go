package kernel

import "fmt"

// TileRows is how many tokens a tile of AMX takes at most.
const TileRows = 16

// tileGroup is what 32 columns of a panel take as tiles read them: signed bytes
// [8][row][4] and the scale of each row as float32.
const tileGroup = 8*PanelRows*4 + 4*PanelRows

// Spreads reports whether SpreadGroups takes the form.
func (f Form) Spreads() bool { return f == Q8 || f == Q4 }

// SpreadBytes is what SpreadGroups writes.
func SpreadBytes(groups int) int { return groups * tileGroup }

// SpreadGroups writes groups of 32 columns of a panel as TileGemm reads
// them. That is little work beside a product with many tokens.
func SpreadGroups(f Form, panel []byte, groups int, out []byte) {
	if !f.Spreads() || groups < 0 || len(panel) < f.PanelBytes(groups*GroupCols) || len(out) < SpreadBytes(groups) {
		panic(fmt.Sprintf("kernel: %d groups of %s in %d bytes into %d bytes", groups, f, len(panel), len(out)))
	}
	switch {
	case groups == 0:
	case f == Q8:
		spreadQ8AVX512(&panel[0], &out[0], groups)
	default:
		spreadQ4AVX512(&panel[0], &out[0], groups)
	}
}

// TileGemm is IntGemm of level AMX for so many tiles of the same number of
// tokens, at most TileRows, and gives the same bits. w is from SpreadGroups; x
// is the first tile, of layout Rows, the others lie so many bytes apart. Row t
// of y is token t of all of them.
//
// Meanwhile the memory in next is asked for.
func TileGemm(w []byte, groups int, x []byte, tokens, tiles, apart int, y []float32, ldy int, add bool, next []byte) {
	if groups < 0 || tokens < 1 || tokens > TileRows || tiles < 1 || len(w) < SpreadBytes(groups) || tiles > 1 && apart < 0 ||
		len(x) < (tiles-1)*apart+IntTileBytes(groups, tokens) || ldy < PanelRows && tiles*tokens > 1 ||
		len(y) < (tiles*tokens-1)*ldy+PanelRows {
		panic(fmt.Sprintf("kernel: %d groups in %d bytes by %d tiles of %d tokens, %d apart in %d bytes, into %d floats, %d apart",
			groups, len(w), tiles, tokens, apart, len(x), len(y), ldy))
	}
	if groups == 0 {
		for t := range tiles * tokens {
			if !add {
				clear(y[t*ldy : t*ldy+PanelRows])
			}
		}
		return
	}
	adds := 0
	if add {
		adds = 1
	}
	const line = 64
	rounds := 2 * tiles * groups
	lines := (len(next)/line + rounds - 1) / rounds
	tileGemmAMX(w, x, y, groups, tokens, ldy, adds, tiles, apart, next, lines)
}
