package gemm

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

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
