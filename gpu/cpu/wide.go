package cpu

import "github.com/troupe-engine/troupe/gpu/cpu/kernel"

// wideGroups is how many groups of 32 columns of a panel are spread at once:
// with the activations of a tile they stay in the first cache.
const wideGroups = 16

// runWide is run by kernel.TileGemm.
func (l *linear) runWide(s *step, w *scratch, in *activations, tiles kernel.Tiling, first, end, lo, hi int) {
	const columns = wideGroups * kernel.GroupCols
	blocks, panels := (l.w.cols+columns-1)/columns, hi-lo
	for b := range blocks * panels {
		weights, groups := l.wideBlock(lo+b%panels, b/panels)
		kernel.SpreadGroups(l.w.form, weights, groups, w.spread)
		var next []byte
		if b+1 < blocks*panels {
			next, _ = l.wideBlock(lo+(b+1)%panels, (b+1)/panels)
		}
		l.multiplyWide(s, w.spread, groups, in, tiles, first, end, lo+b%panels, b/panels*columns, next)
	}
}

// wideBlock is block b of a panel.
func (l *linear) wideBlock(panel, b int) (weights []byte, groups int) {
	from := b * wideGroups * kernel.GroupCols
	columns := min(wideGroups*kernel.GroupCols, l.w.cols-from)
	return l.w.panel(panel)[l.w.form.PanelBytes(from):][:l.w.form.PanelBytes(columns)], columns / kernel.GroupCols
}

// multiplyWide computes columns of a panel, spread, for tiles [first, end), each
// run of tiles of one size at once.
func (l *linear) multiplyWide(s *step, spread []byte, groups int, in *activations, tiles kernel.Tiling, first, end, panel, from int, next []byte) {
	y, stride := s.buffers[l.Out], s.stride(l.Out)
	for first < end {
		t, tokens := tiles.At(first)
		n := min(end, first+1)
		for n < end {
			if _, other := tiles.At(n); other != tokens {
				break
			}
			n++
		}
		kernel.TileGemm(spread, groups, in.quantised[kernel.IntTileBytes(in.width/kernel.GroupCols, t)+kernel.IntTileBytes(from/kernel.GroupCols, tokens):], tokens, n-first, kernel.IntTileBytes(in.width/kernel.GroupCols, tokens),
			y[t*stride+panel*kernel.PanelRows:], stride, from > 0 || l.adds(), next)
		first, next = n, nil
	}
}
