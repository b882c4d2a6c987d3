package layout_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

func TestTilesCoverTokens(t *testing.T) {
	for most := 1; most < 14; most++ {
		for n := range 100 {
			tiles, next, before := layout.NewTiling(n, most), 0, most
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
