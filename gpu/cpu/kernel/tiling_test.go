package kernel

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestTilesCoverTokens(t *testing.T) {
	for most := 1; most < 14; most++ {
		for n := range 100 {
			tiles, next, before := NewTiling(n, most), 0, most
			for i := range tiles.Tiles {
				first, size := tiles.At(i)
				if first != next || size < 1 || size > before || size < before-1 && i > 0 {
					t.Fatalf("%d tokens, at most %d: tile %d is [%d, %d) after one of %d", n, most, i, first, first+size, before)
				}
				end := i + 1
				for ; end < tiles.Tiles; end++ {
					if _, other := tiles.At(end); other != size {
						break
					}
				}
				if got := tiles.Alike(i); got != end {
					t.Fatalf("%d tokens, at most %d: tiles as tile %d end at %d, want %d", n, most, i, got, end)
				}
				next, before = first+size, size
			}
			if first, _ := tiles.At(tiles.Tiles); next != n || first != n || tiles.Tiles != (n+most-1)/most {
				t.Errorf("%d tokens, at most %d: %d tiles, of %d tokens", n, most, tiles.Tiles, next)
			}
		}
	}
}

func TestPackTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(vectorLevels()).Draw(t, "level")
		tokens, cols := rapid.IntRange(1, 13).Draw(t, "tokens"), rapid.IntRange(1, 150).Draw(t, "cols")
		ldx := cols + rapid.IntRange(0, 9).Draw(t, "gap")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		x, out := normal(r, tokens*ldx), normal(r, tokens*cols+5)
		after := append([]float32(nil), out[tokens*cols:]...)
		PackTile(l, out, x, ldx, tokens, cols)
		for i := range tokens {
			for c := range cols {
				if got, want := out[c*tokens+i], x[i*ldx+c]; got != want {
					t.Fatalf("token %d, column %d: %v, want %v", i, c, got, want)
				}
			}
		}
		if err := sameBits(out[tokens*cols:], after); err != nil {
			t.Fatalf("after the tile: %v", err)
		}
	})
}
