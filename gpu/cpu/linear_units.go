package cpu

import (
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// shape is how a stage is split in a step.
type shape struct {
	tiles  layout.Tiling
	amx    bool // products by intgemm.MultiplyAMX
	blocks int  // of tokens
	run    int  // tiles of a block
	panels int  // of a unit
	units  int  // of a block
}

// blockTokens is how many tokens are multiplied with a run of panels before the next one:
// their activations stay in the L2 cache, and weights are read once for all of them.
const blockTokens = 192

// unitTime is the approximate time that a unit should take, in nanoseconds.
const unitTime = 20_000

// speeds are approximate speeds of one processor per nanosecond: operations of a product
// of floats and of integers, and bytes of weights from memory.
var speeds = [...]struct{ floats, ints, bytes int }{
	simd.Portable: {4, 8, 2}, simd.AVX2: {80, 110, 12}, simd.AVX512: {160, 500, 16}, simd.AMX: {160, 500, 16},
}

const amxSpeed = 1200

func (l *linears) shape(s *step) shape {
	h := shape{tiles: s.tiling(l.in)}
	h.amx = l.in.usesAMX(s.level, h.tiles.Tokens)
	w, speed, tokens, most := l.ops[0].w, speeds[s.level].floats, blockTokens, blockTokens/layout.TileTokens(s.level)
	switch {
	case h.amx:
		speed, tokens, most = amxSpeed, amxTokens, amxTokens/intgemm.AMXTokens
	case l.ops[0].ints:
		speed = speeds[s.level].ints
	}
	h.blocks = (h.tiles.Tiles + most - 1) / most
	h.run = (h.tiles.Tiles + h.blocks - 1) / max(1, h.blocks)
	each := max(w.form.PanelBytes(w.cols)/speeds[s.level].bytes,
		2*layout.PanelRows*w.cols*min(tokens, h.tiles.Tokens)/speed)
	if l.silu != nil {
		each *= 2
	}
	all := 0
	for i := range l.ops {
		all += layout.Panels(l.ops[i].w.rows)
	}
	// Few enough panels that every worker has several units.
	panels := unitTime / max(1, each)
	if h.amx || l.ops[0].dequantises(h.run) {
		if panels = amxPanels; l.silu != nil {
			panels /= 2
		}
	}
	h.panels = max(1, min(panels, all/(4*s.threads)))
	h.units = l.unitsOf(h.panels)
	return h
}

// unitsOf is the number of units of a block of tokens, with each panels in a unit.
func (l *linears) unitsOf(each int) int {
	n := 0
	for i := range l.ops {
		n += (layout.Panels(l.ops[i].w.rows) + each - 1) / each
		if l.silu != nil {
			break
		}
	}
	return n
}

// find returns the Linear and first panel of a unit of a block, with each panels a unit.
func (l *linears) find(unit, each int) (op *linear, panel int) {
	panel = unit * each
	for i := range l.ops {
		op = &l.ops[i]
		panels := layout.Panels(op.w.rows)
		if panel < panels {
			break
		}
		panel -= (panels + each - 1) / each * each
	}
	return op, panel
}

func (l *linears) units(s *step) int {
	l.now = l.shape(s)
	return l.now.units * l.now.blocks
}

// productUnit is panels [lo, hi) by tiles [first, end), which are tokens [from, to).
type productUnit struct {
	s          *step
	w          *scratch
	in         *activations
	tiles      layout.Tiling
	first, end int
	from, to   int
	lo, hi     int
}
