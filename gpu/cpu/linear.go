package cpu

import (
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
)

type linear struct {
	gpu.Linear
	w    *matrix
	bias []float32 // nil: none
	ints bool      // activations are quantised
}

func newLinear(weights []matrix, op gpu.Linear, int8 bool) linear {
	l := linear{Linear: op, w: &weights[op.W]}
	l.ints = int8 && l.w.form.Integer()
	if op.Bias != gpu.NoWeight {
		l.bias = weights[op.Bias].f32
	}
	return l
}

// linears is a stage of Linears over one input. A unit is a run of panels of
// one of them, or of both with silu, for a block of tokens.
type linears struct {
	in   *activations
	ops  []linear
	silu *gpu.SiluMul // at the end of a unit, or nil
	// next is where the output of silu is laid out if products read it next.
	next *activations
	// inner: nothing else reads the sums and the output.
	inner bool
	now   shape // of the current step; written before its units run
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

// fuse adds a SiluMul of exactly the two outputs. It works on columns, so it must not
// write what other units still read.
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

func (l *linears) run(s *step, w *scratch, unit int) error {
	h := l.now
	u := productUnit{s: s, w: w, in: l.in, tiles: h.tiles, first: unit / h.units * h.run}
	u.end = min(u.first+h.run, h.tiles.Tiles)
	u.from, _ = u.tiles.At(u.first)
	u.to, _ = u.tiles.At(u.end)
	op, lo := l.find(unit%h.units, h.panels)
	u.lo, u.hi = lo, min(lo+h.panels, layout.Panels(op.w.rows))
	switch {
	case h.amx:
		l.runAMX(&u, op)
	case l.silu == nil:
		op.run(&u)
	default:
		l.ops[0].run(&u)
		l.ops[1].run(&u)
		l.activate(&u)
	}
	return nil
}

// activate does the SiluMul of a unit.
func (l *linears) activate(u *productUnit) {
	lo, hi := u.lo*layout.PanelRows, min(u.hi*layout.PanelRows, l.ops[0].w.rows)
	for t := u.from; t < u.to; t++ {
		rowops.SiluMul(u.s.level, u.s.row(l.silu.Gate, t)[lo:hi], u.s.row(l.silu.Up, t)[lo:hi], u.s.row(l.silu.Out, t)[lo:hi])
	}
	if l.next != nil {
		l.next.pack(u.s, u.tiles, u.first, u.end, lo, hi)
	}
}

// What a call of a kernel takes: columns of weights that stay in the L1 cache for all
// tiles of a block, or, for one tile, as many as keep a call below 20 microseconds.
const (
	blockBytes  = 32 << 10
	callColumns = 4096
)

// ahead is the prefetch distance of weights in bytes; 4 to 8 KiB measured best.
const ahead = 8 << 10

func (l *linear) run(u *productUnit) {
	l.begin(u)
	tiles := u.end - u.first
	if l.dequantises(tiles) {
		l.runDequantised(u)
		return
	}
	y, stride := u.s.buffers[l.Out], u.s.stride(l.Out)
	columns, panels := callColumns, u.hi-u.lo
	if tiles > 1 {
		unit := max(layout.GroupCols, l.w.form.Unit())
		columns = blockBytes / l.w.form.PanelBytes(unit) * unit
	}
	blocks := (l.w.cols + columns - 1) / columns
	for i := range blocks * panels {
		// One tile reads the panels in order; with several, the activations of a block
		// stay in the cache for all panels.
		p, b := u.lo+i/blocks, i%blocks
		if tiles > 1 {
			p, b = u.lo+i%panels, i/panels
		}
		w, n := l.block(p, b, columns)
		from, out := b*columns, y[p*layout.PanelRows:]
		add := b > 0 || l.adds()
		if l.ints {
			l.multiplyInts(u, w, from, n, out, stride, add)
			continue
		}
		fetch := ahead
		for i := u.first; i < u.end; i++ {
			t, tokens := u.tiles.At(i)
			gemm.Multiply(u.s.level, l.w.form, w, n, u.in.tile(u.s, t, tokens, from), tokens, out[t*stride:], stride, add, fetch)
			fetch = 0
		}
	}
}

// block returns block b of a panel, of some columns each, and the number of its columns.
func (l *linear) block(panel, b, columns int) (weights []byte, n int) {
	n = min(columns, l.w.cols-b*columns)
	return l.w.panel(panel)[l.w.form.PanelBytes(b*columns):][:l.w.form.PanelBytes(n)], n
}

// fetchers is the maximum number of tiles that share the prefetch of the next block; with
// more, the last ones would have nothing to prefetch.
const fetchers = 4

// multiplyInts computes n columns of a panel from a column on. Integer products of many
// tokens are faster than memory: all tiles prefetch a share of what comes next.
func (l *linear) multiplyInts(u *productUnit, w []byte, from, n int, y []float32, stride int, add bool) {
	groups, share := n/layout.GroupCols, min(u.end-u.first, fetchers)
	for i := u.first; i < u.end; i++ {
		fetch := intgemm.Fetch{}
		switch k := i - u.first; {
		case share == 1:
			fetch = intgemm.Fetch{Ahead: ahead, Every: 1}
		case k < share:
			fetch = intgemm.Fetch{Ahead: len(w) + len(w)*k/share, Every: share}
		}
		t, tokens := u.tiles.At(i)
		intgemm.Multiply(u.s.level, l.w.form, w, groups, u.in.intTile(t, tokens, from), tokens, y[t*stride:], stride, add, fetch)
	}
}

// adds reports whether sums start from what is in the output.
func (l *linear) adds() bool { return l.Accumulate || l.bias != nil }

// begin writes the start of the sums of a unit to the output.
func (l *linear) begin(u *productUnit) {
	if l.bias == nil {
		return
	}
	column, width := u.lo*layout.PanelRows, min(u.hi*layout.PanelRows, l.w.rows)-u.lo*layout.PanelRows
	for t := u.from; t < u.to; t++ {
		out := u.s.row(l.Out, t)[column:][:width]
		l.beginRow(out, out, column)
	}
}

// beginRow writes the start of a token's sums: the bias, and the output if it is added to.
// The output is a row from a column on; it may be sums itself.
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
