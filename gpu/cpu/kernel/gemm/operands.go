package gemm

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// PackTile lays out the activations of a tile for Multiply: x[t*ldx+c] becomes
// out[c*tokens+t]. A tile of one token needs no packing. To pack some of the
// columns only, pass out and x from the first of them.
func PackTile(l simd.Level, out []float32, x []float32, ldx, tokens, cols int) {
	if tokens > 1 && ldx < cols || tokens*cols > len(out) || (tokens-1)*ldx+cols > len(x) {
		panic(fmt.Sprintf("gemm: %d tokens of %d columns, %d apart, from %d into %d floats", tokens, cols, ldx, len(x), len(out)))
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

// WidenPanel converts cols columns of a panel of BF16 or F16 exactly to a panel of
// F32, which takes F32.PanelBytes(cols) bytes of out. Multiply has the same bits
// for both. With many tiles of tokens it is faster to convert once than per tile.
func WidenPanel(l simd.Level, f layout.Form, out, panel []byte, cols int) {
	if f != layout.BF16 && f != layout.F16 || len(panel) < f.PanelBytes(cols) || len(out) < layout.F32.PanelBytes(cols) {
		panic(fmt.Sprintf("gemm: %d bytes of %s do not become %d columns of f32 in %d bytes", len(panel), f, cols, len(out)))
	}
	if f == layout.F16 {
		n := cols * layout.PanelRows
		convert.Widen(l, f, layout.Floats(out)[:n], layout.Halves(panel)[:n])
		return
	}
	done := 0
	if pairs := cols / 2; pairs > 0 && l != simd.Portable {
		widenPairsAVX(l, &out[0], &panel[0], pairs)
		done = 2 * pairs
	}
	in, to := layout.Words(panel), layout.Floats(out)
	for c := done; c < cols; c++ {
		column := to[c*layout.PanelRows:][:layout.PanelRows]
		for r, pair := range in[c/2*layout.PanelRows:][:layout.PanelRows] {
			if column[r] = layout.EvenBF16(pair); c%2 != 0 {
				column[r] = layout.OddBF16(pair)
			}
		}
	}
}
