package cpu

import (
	"runtime"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Products of many tokens with 16-bit weights, which are widened to float32
// once for all tiles of a block.

const (
	// widenLeast is from how many tiles on this pays: widening takes about a
	// fifth of the time of a tile and saves each of them about a tenth.
	widenLeast = 4
	// widenedColumns is the columns that are widened at once: blockBytes.
	widenedColumns = blockBytes / (4 * layout.PanelRows)
	// widenedYield is how many blocks of columns are multiplied, of some 15
	// microseconds each, before others may have the processor.
	widenedYield = 16
)

// widens tells whether products with so many tiles widen their weights first.
func (l *linear) widens(tiles int) bool {
	return (l.w.form == layout.BF16 || l.w.form == layout.F16) && tiles >= widenLeast
}

// runWidened is run; the bits are the same. All panels share the reading of
// the activations of a block of columns.
func (l *linear) runWidened(s *step, w *scratch, in *activations, tiles layout.Tiling, first, end, lo, hi int) {
	y, stride := s.buffers[l.Out], s.stride(l.Out)
	panels := hi - lo
	blocks := (l.w.cols + widenedColumns - 1) / widenedColumns
	for b := range blocks * panels {
		p, from := lo+b%panels, b/panels*widenedColumns
		weights, n := l.widenedBlock(p, b/panels)
		gemm.WidenPanel(s.level, l.w.form, w.widened, weights, n)
		var next []byte
		switch {
		case b+1 < blocks*panels:
			next, _ = l.widenedBlock(lo+(b+1)%panels, (b+1)/panels)
		case hi < layout.Panels(l.w.rows): // likely the unit that follows
			next, _ = l.widenedBlock(hi, 0)
		}
		// Each tile fetches a share of what comes next.
		share := (len(next)/(end-first)/lineBytes + 1) * lineBytes
		for i := first; i < end; i++ {
			t, tokens := tiles.At(i)
			simd.Prefetch(next[:min(share, len(next))], lineBytes)
			next = next[min(share, len(next)):]
			gemm.Multiply(s.level, layout.F32, w.widened, n, in.tile(s, t, tokens, from), tokens,
				y[t*stride+p*layout.PanelRows:], stride, from > 0 || l.adds(), 0)
		}
		if (b+1)%widenedYield == 0 {
			runtime.Gosched()
		}
	}
}

// widenedBlock is block b of a panel, of so many columns.
func (l *linear) widenedBlock(panel, b int) (weights []byte, columns int) {
	columns = min(widenedColumns, l.w.cols-b*widenedColumns)
	return l.w.panel(panel)[l.w.form.PanelBytes(b*widenedColumns):][:l.w.form.PanelBytes(columns)], columns
}
