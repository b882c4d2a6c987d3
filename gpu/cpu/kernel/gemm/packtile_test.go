package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/testkit/kerneltest"
	"pgregory.net/rapid"
)

func TestPackTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(kerneltest.VectorLevels()).Draw(t, "level")
		tokens, cols := rapid.IntRange(1, 13).Draw(t, "tokens"), rapid.IntRange(1, 150).Draw(t, "cols")
		ldx := cols + rapid.IntRange(0, 9).Draw(t, "gap")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		x, out := kerneltest.Normal(r, tokens*ldx), kerneltest.Normal(r, tokens*cols+5)
		after := append([]float32(nil), out[tokens*cols:]...)
		PackTile(l, out, x, ldx, tokens, cols)
		for i := range tokens {
			for c := range cols {
				if got, want := out[c*tokens+i], x[i*ldx+c]; got != want {
					t.Fatalf("token %d, column %d: %v, want %v", i, c, got, want)
				}
			}
		}
		if err := kerneltest.SameBits(out[tokens*cols:], after); err != nil {
			t.Fatalf("after the tile: %v", err)
		}
	})
}
