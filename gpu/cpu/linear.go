package cpu

import (
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// linear is one gpu.Linear.
type linear struct {
	gpu.Linear
	w    *matrix
	bias []float32 // nil: none
	ints bool      // activations are quantised
}

func newLinear(p *gpu.Program, weights []matrix, op gpu.Linear, int8 bool) linear {
	l := linear{Linear: op, w: &weights[op.W]}
	l.ints = int8 && l.w.form.Integer()
	if op.Bias != gpu.NoWeight {
		l.bias = weights[op.Bias].f32
	}
	return l
}

// linears is a stage of Linears over one input. A unit is a run of panels of
// one of them for a block of tokens; with silu, of both of them.
type linears struct {
	threads int
	in      *activations
	ops     []linear
	silu    *gpu.SiluMul // at the end of a unit, or nil
	// next is where the output of silu is laid out, if products read it next.
	next *activations
	// inner: nothing else reads what the stage computes.
	inner bool
	now   shape // of the step that runs; written before its units run
}

// join adds a Linear that reads the same input and writes elsewhere.
func (l *linears) join(op linear) bool {
	if l.silu != nil || op.In != l.in.buffer {
		return false
	}
	for _, o := range l.ops {
		if o.Out == op.Out || o.Out == op.In {
			return false
		}
	}
	l.ops = append(l.ops, op)
	return true
}

// fuse takes in a SiluMul of exactly the two outputs. It works on columns, so
// it must not write what other units still read.
func (l *linears) fuse(op gpu.SiluMul) bool {
	if l.silu != nil || len(l.ops) != 2 || op.Out == l.in.buffer {
		return false
	}
	outs := []gpu.Buffer{l.ops[0].Out, l.ops[1].Out}
	if op.Gate == op.Up || !slices.Contains(outs, op.Gate) || !slices.Contains(outs, op.Up) {
		return false
	}
	l.silu = &op
	return true
}

// shape is how a stage is split in a step.
type shape struct {
	tiles  layout.Tiling
	amx    bool // products by intgemm.MultiplyAMX
	blocks int  // of tokens
	run    int  // tiles of a block
	panels int  // of a unit
	units  int  // of a block
}

// blockTokens is how many tokens are multiplied with a run of panels before
// the next one: their activations stay in the second cache, weights are read
// once for all of them.
const blockTokens = 192

// unitTime is about how long a unit should take, in nanoseconds.
const unitTime = 20_000

// speeds of one processor, about: operations of a product of floats and of
// integers, and bytes of weights from memory, in a nanosecond.
var speeds = [...]struct{ floats, ints, bytes int }{
	simd.Portable: {4, 8, 2}, simd.AVX2: {80, 110, 12}, simd.AVX512: {160, 500, 16}, simd.AMX: {160, 500, 16},
}

// amxSpeed is that of intgemm.MultiplyAMX.
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
	// Few enough that every worker has some units.
	panels := unitTime / max(1, each)
	if h.amx || l.ops[0].dequantises(h.run) {
		if panels = amxPanels; l.silu != nil {
			panels /= 2
		}
	}
	h.panels = max(1, min(panels, all/(4*l.threads)))
	for i := range l.ops {
		h.units += (layout.Panels(l.ops[i].w.rows) + h.panels - 1) / h.panels
		if l.silu != nil {
			break
		}
	}
	return h
}

func (l *linears) units(s *step) int {
	l.now = l.shape(s)
	return l.now.units * l.now.blocks
}

func (l *linears) run(s *step, w *scratch, unit int) error {
	h := l.now
	first := unit / h.units * h.run
	end := min(first+h.run, h.tiles.Tiles)
	unit %= h.units
	for i := range l.ops {
		op := &l.ops[i]
		panels := layout.Panels(op.w.rows)
		if units := (panels + h.panels - 1) / h.panels; unit >= units {
			unit -= units
			continue
		}
		lo, hi := unit*h.panels, min((unit+1)*h.panels, panels)
		switch {
		case h.amx:
			l.runAMX(s, w, op, first, end, lo, hi)
			return nil
		case l.silu == nil:
			op.run(s, w, l.in, h.tiles, first, end, lo, hi)
			return nil
		}
		l.ops[0].run(s, w, l.in, h.tiles, first, end, lo, hi)
		l.ops[1].run(s, w, l.in, h.tiles, first, end, lo, hi)
		l.activate(s, h.tiles, first, end, lo*layout.PanelRows, min(hi*layout.PanelRows, op.w.rows))
		return nil
	}
	return nil
}

// activate does the SiluMul of columns [lo, hi) for tiles [first, end).
func (l *linears) activate(s *step, tiles layout.Tiling, first, end, lo, hi int) {
	from, _ := tiles.At(first)
	to, _ := tiles.At(end)
	for t := from; t < to; t++ {
		rowops.SiluMul(s.level, s.row(l.silu.Gate, t)[lo:hi], s.row(l.silu.Up, t)[lo:hi], s.row(l.silu.Out, t)[lo:hi])
	}
	if l.next != nil {
		l.next.pack(s, tiles, first, end, lo, hi)
	}
}

// What a call of a kernel takes: columns of weights that stay in the first
// cache for all tiles of a block, and, of one tile, as many as keep a call
// below 20 microseconds.
const (
	blockBytes  = 32 << 10
	callColumns = 4096
)

// ahead is how many bytes ahead weights are fetched; measured best from 4 to 8
// KiB.
const ahead = 8 << 10

// run computes panels [lo, hi) for tiles [first, end).
func (l *linear) run(s *step, w *scratch, in *activations, tiles layout.Tiling, first, end, lo, hi int) {
	l.begin(s, tiles, first, end, lo, hi)
	if l.dequantises(end - first) {
		l.runDequantised(s, w, in, tiles, first, end, lo, hi)
		return
	}
	y, stride := s.buffers[l.Out], s.stride(l.Out)
	columns, panels := callColumns, hi-lo
	if end-first > 1 {
		unit := max(layout.GroupCols, l.w.form.Unit())
		columns = blockBytes / l.w.form.PanelBytes(unit) * unit
	}
	blocks := (l.w.cols + columns - 1) / columns
	for b := range blocks * panels {
		// One tile reads the panels as they lie; of several, the activations of
		// a block stay near for all panels.
		p, from := lo+b/blocks, b%blocks*columns
		if end-first > 1 {
			p, from = lo+b%panels, b/panels*columns
		}
		n := min(columns, l.w.cols-from)
		w, add := l.w.panel(p)[l.w.form.PanelBytes(from):], from > 0 || l.adds()
		if l.ints {
			l.multiplyInts(s, in, tiles, first, end, w, from, n, y[p*layout.PanelRows:], stride, add)
			continue
		}
		fetch := ahead
		for i := first; i < end; i++ {
			t, tokens := tiles.At(i)
			gemm.Multiply(s.level, l.w.form, w, n, in.tile(s, t, tokens, from), tokens,
				y[t*stride+p*layout.PanelRows:], stride, add, fetch)
			fetch = 0
		}
	}
}

// fetchers is how many tiles share the fetching of the next block at most;
// more would leave none to the last ones.
const fetchers = 4

// multiplyInts computes n columns of a panel for tiles [first, end). Integer
// products of many tokens are quicker than memory: all tiles fetch a share of
// what comes next.
func (l *linear) multiplyInts(s *step, in *activations, tiles layout.Tiling, first, end int, w []byte, from, n int, y []float32, stride int, add bool) {
	groups, share := n/layout.GroupCols, min(end-first, fetchers)
	for i := first; i < end; i++ {
		fetch := intgemm.Fetch{}
		switch k := i - first; {
		case share == 1:
			fetch = intgemm.Fetch{Ahead: ahead, Every: 1}
		case k < share:
			bytes := l.w.form.PanelBytes(n)
			fetch = intgemm.Fetch{Ahead: bytes + bytes*k/share, Every: share}
		}
		t, tokens := tiles.At(i)
		intgemm.Multiply(s.level, l.w.form, w, groups, in.intTile(t, tokens, from), tokens, y[t*stride:], stride, add, fetch)
	}
}

// adds tells whether sums begin with what is in the output.
func (l *linear) adds() bool { return l.Accumulate || l.bias != nil }

// begin lets sums of tiles [first, end) begin in the output.
func (l *linear) begin(s *step, tiles layout.Tiling, first, end, lo, hi int) {
	if l.bias == nil {
		return
	}
	from, _ := tiles.At(first)
	to, _ := tiles.At(end)
	column, width := lo*layout.PanelRows, min(hi*layout.PanelRows, l.w.rows)-lo*layout.PanelRows
	for t := from; t < to; t++ {
		out := s.row(l.Out, t)[column:][:width]
		l.beginRow(out, out, column)
	}
}

// beginRow puts the bias, and the output if it is added to, where the sums of a
// token begin; the output is its row from a column on. It may be sums itself.
func (l *linear) beginRow(sums, output []float32, column int) {
	if !l.Accumulate {
		copy(sums[:len(output)], l.bias[column:])
		return
	}
	copy(sums, output)
	if l.bias != nil {
		for i, b := range l.bias[column:][:len(output)] {
			sums[i] += b
		}
	}
}
