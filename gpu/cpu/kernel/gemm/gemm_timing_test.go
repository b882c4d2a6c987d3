package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// Columns of a projection of a model of 1.5 billion parameters. lab/bench/kernels
// measures the products.
const timedCols = 1536

func BenchmarkPack(b *testing.B) {
	for _, f := range layout.Forms {
		b.Run(f.String(), func(b *testing.B) {
			encoded, _ := kerneltest.NativeRows(rand.New(rand.NewPCG(1, 1)), f, layout.PanelRows, timedCols)
			panel := make([]byte, f.PanelBytes(timedCols))
			b.SetBytes(int64(len(panel)))
			for b.Loop() {
				layout.Pack(f, panel, timedCols, encoded)
			}
		})
	}
}

func BenchmarkPackTile(b *testing.B) {
	for _, tokens := range []int{2, 6, 12} {
		b.Run(fmt.Sprintf("tokens-%d", tokens), func(b *testing.B) {
			x, packed := make([]float32, tokens*timedCols), make([]float32, tokens*timedCols)
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				PackTile(simd.Best(), packed, x, timedCols, tokens, timedCols)
			}
		})
	}
}
