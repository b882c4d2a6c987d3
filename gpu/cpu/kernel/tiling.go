package kernel

import "fmt"

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

// Alike is the end of the run of tiles that have as many tokens as tile i.
func (t Tiling) Alike(i int) int {
	if larger := t.Tokens % t.Tiles; i < larger {
		return larger
	}
	return t.Tiles
}

// PackTile lays out the activations of a tile for Gemm: x[t*ldx+c] becomes
// out[c*tokens+t]. A tile of one token needs none: it is the row itself. A part
// of the columns is written alone with out and x beginning at its first one.
func PackTile(l Level, out []float32, x []float32, ldx, tokens, cols int) {
	if tokens > 1 && ldx < cols || tokens*cols > len(out) || (tokens-1)*ldx+cols > len(x) {
		panic(fmt.Sprintf("kernel: %d tokens of %d columns, %d apart, from %d into %d floats", tokens, cols, ldx, len(x), len(out)))
	}
	done := 0
	if whole := cols &^ 7; l >= AVX2 && tokens >= 4 && whole > 0 {
		// Four tokens at a time, the last four once more where that overlaps.
		for t := 0; t < tokens; t += 4 {
			t = min(t, tokens-4)
			transposeAVX2(&out[t], tokens, &x[t*ldx], ldx, whole)
		}
		done = whole
	}
	const block = 64 // columns whose place stays in the first cache for all tokens
	for ; done < cols; done += block {
		n := min(block, cols-done)
		for t := range tokens {
			row := x[t*ldx+done:][:n]
			to := out[done*tokens+t:][:(n-1)*tokens+1]
			for c, i := 0, 0; c < len(row) && i < len(to); c, i = c+1, i+tokens {
				to[i] = row[c]
			}
		}
	}
}
