package kernel

// Tiling divides tokens into tiles that are multiplied one at a time: as few as
// can be, of about the same size, the larger ones first.
type Tiling struct {
	Tokens, Tiles int
}

// NewTiling makes tiles of at most so many tokens.
func NewTiling(tokens, most int) Tiling {
	return Tiling{Tokens: tokens, Tiles: (tokens + most - 1) / most}
}

// At is the first token of tile i and how many it has. At(Tiles) begins at
// Tokens.
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
