package cpu

import (
	"runtime"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Dequantised GEMM: for many tokens, 16-bit weights are converted to float32 once
// for all tiles of a block.

const (
	// dequantTiles is from how many tiles on this pays: converting takes about a
	// fifth of the time of a tile and saves each of them about a tenth.
	dequantTiles = 4
	// dequantColumns is the columns that are converted at once: blockBytes.
	dequantColumns = blockBytes / (4 * layout.PanelRows)
	// dequantYield is how many blocks of columns are multiplied, of some 15
	// microseconds each, before the worker yields the processor.
	dequantYield = 16
)

// dequantises tells whether a product with so many tiles converts its weights
// first.
func (l *linear) dequantises(tiles int) bool {
	return (l.w.form == layout.BF16 || l.w.form == layout.F16) && tiles >= dequantTiles
}

// runDequantised is run with converted weights; the bits are the same. All panels
// share the reading of the activations of a block of columns.
func (l *linear) runDequantised(s *step, w *scratch, in *activations, tiles layout.Tiling, first, end, lo, hi int) {
	y, stride := s.buffers[l.Out], s.stride(l.Out)
	panels := hi - lo
	blocks := (l.w.cols + dequantColumns - 1) / dequantColumns
	for b := range blocks * panels {
		p, from := lo+b%panels, b/panels*dequantColumns
		weights, n := l.dequantBlock(p, b/panels)
		gemm.WidenPanel(s.level, l.w.form, w.dequantised, weights, n)
		var next []byte
		switch {
		case b+1 < blocks*panels:
			next, _ = l.dequantBlock(lo+(b+1)%panels, (b+1)/panels)
		case hi < layout.Panels(l.w.rows): // likely the unit that follows
			next, _ = l.dequantBlock(hi, 0)
		}
		// Each tile fetches a share of what comes next.
		share := (len(next)/(end-first)/lineBytes + 1) * lineBytes
		for i := first; i < end; i++ {
			t, tokens := tiles.At(i)
			simd.Prefetch(next[:min(share, len(next))], lineBytes)
			next = next[min(share, len(next)):]
			gemm.Multiply(s.level, layout.F32, w.dequantised, n, in.tile(s, t, tokens, from), tokens,
				y[t*stride+p*layout.PanelRows:], stride, from > 0 || l.adds(), 0)
		}
		if (b+1)%dequantYield == 0 {
			runtime.Gosched()
		}
	}
}

// dequantBlock is block b of a panel, and the number of its columns.
func (l *linear) dequantBlock(panel, b int) (weights []byte, columns int) {
	columns = min(dequantColumns, l.w.cols-b*dequantColumns)
	return l.w.panel(panel)[l.w.form.PanelBytes(b*dequantColumns):][:l.w.form.PanelBytes(columns)], columns
}
