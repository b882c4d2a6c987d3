package cpu

import (
	"runtime"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// For many tokens, 16-bit weights are converted to float32 once for all tiles of a block.

const (
	// dequantTiles is the number of tiles from which this pays: converting takes about a
	// fifth of the time of a tile and saves each of them about a tenth.
	dequantTiles = 4
	// dequantColumns is the number of columns converted at once: blockBytes.
	dequantColumns = blockBytes / (4 * layout.PanelRows)
	// dequantYield is how many blocks of columns, of some 15 microseconds each, are
	// multiplied before the worker yields the processor.
	dequantYield = 16
)

// dequantises reports whether a product of some tiles converts its weights first.
func (l *linear) dequantises(tiles int) bool {
	return (l.w.form == layout.BF16 || l.w.form == layout.F16) && tiles >= dequantTiles
}

// runDequantised is run with converted weights; the bits are the same. All panels
// share the reading of the activations of a block of columns.
func (l *linear) runDequantised(u *productUnit) {
	y, stride := u.s.buffers[l.Out], u.s.stride(l.Out)
	panels := u.hi - u.lo
	blocks := (l.w.cols + dequantColumns - 1) / dequantColumns
	for i := range blocks * panels {
		p, b := u.lo+i%panels, i/panels
		weights, n := l.block(p, b, dequantColumns)
		gemm.WidenPanel(u.s.level, l.w.form, u.w.dequantised, weights, n)
		var next []byte
		switch {
		case i+1 < blocks*panels:
			next, _ = l.block(u.lo+(i+1)%panels, (i+1)/panels, dequantColumns)
		case u.hi < layout.Panels(l.w.rows): // likely the next unit
			next, _ = l.block(u.hi, 0, dequantColumns)
		}
		// Each tile prefetches a share of what comes next.
		share := (len(next)/(u.end-u.first)/lineBytes + 1) * lineBytes
		for tile := u.first; tile < u.end; tile++ {
			t, tokens := u.tiles.At(tile)
			simd.Prefetch(next[:min(share, len(next))], lineBytes)
			next = next[min(share, len(next)):]
			gemm.Multiply(u.s.level, layout.F32, u.w.dequantised, n, u.in.tile(u.s, t, tokens, b*dequantColumns), tokens,
				y[t*stride+p*layout.PanelRows:], stride, b > 0 || l.adds(), 0)
		}
		if (i+1)%dequantYield == 0 {
			runtime.Gosched()
		}
	}
}
