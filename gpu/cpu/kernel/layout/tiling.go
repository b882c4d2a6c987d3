package layout

import "github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"

// Tiling divides tokens into tiles that are multiplied one at a time: as few as
// possible, of nearly equal size, the larger ones first.
type Tiling struct {
	Tokens, Tiles int
}

// NewTiling makes tiles of at most most tokens.
func NewTiling(tokens, most int) Tiling {
	return Tiling{Tokens: tokens, Tiles: (tokens + most - 1) / most}
}

// At returns tile i's first token and number of tokens; At(Tiles) starts at Tokens.
func (t Tiling) At(i int) (first, tokens int) {
	if t.Tiles == 0 {
		return 0, 0
	}
	each, more := t.Tokens/t.Tiles, t.Tokens%t.Tiles
	first, tokens = i*each+min(i, more), each
	if i < more {
		tokens++
	}
	return first, tokens
}

// Alike is the end of the run of tiles that have as many tokens as tile i.
func (t Tiling) Alike(i int) int {
	if larger := t.Tokens % t.Tiles; i < larger {
		return larger
	}
	return t.Tiles
}

var tileTokens = [...]int{simd.Portable: 8, simd.AVX2: 6, simd.AVX512: 12, simd.AMX: 12}

// TileTokens is the largest number of tokens of a tile of package gemm or intgemm.
func TileTokens(l simd.Level) int { return tileTokens[l] }
