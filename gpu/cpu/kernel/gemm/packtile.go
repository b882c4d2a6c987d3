package gemm

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// PackTile lays out the activations of a tile for Multiply: x[t*ldx+c] becomes
// out[c*tokens+t]. A tile of one token needs no packing. To pack some of the
// columns only, pass out and x from the first of them.
func PackTile(l simd.Level, out []float32, x []float32, ldx, tokens, cols int) {
	if tokens > 1 && ldx < cols || tokens*cols > len(out) || (tokens-1)*ldx+cols > len(x) {
		panic(fmt.Sprintf("kernel: %d tokens of %d columns, %d apart, from %d into %d floats", tokens, cols, ldx, len(x), len(out)))
	}
	done := 0
	if whole := cols &^ 7; l >= simd.AVX2 && tokens >= 4 && whole > 0 {
		// Four tokens at a time; the last four may overlap those before.
		for t := 0; t < tokens; t += 4 {
			t = min(t, tokens-4)
			transposeAVX2(&out[t], tokens, &x[t*ldx], ldx, whole)
		}
		done = whole
	}
	const block = 64 // columns whose output stays in the L1 cache for all tokens
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
