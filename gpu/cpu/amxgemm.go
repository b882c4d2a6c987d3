package cpu

import (
	"runtime"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
)

// Blocked GEMM by AMX tiles (intgemm.MultiplyAMX): many rows times matrices that
// come from memory. The multiplications are so fast that everything around them
// counts. Sums stay in the L2 cache until they are complete; those of a SiluMul
// leave it only as the activations of the GEMM that follows.

const (
	// amxTokens is how many tokens are multiplied with a run of panels at most.
	amxTokens = 512
	// amxPanels is how many panels share the reading of activations, and of two
	// matrices together.
	amxPanels = 4
	// amxGroups is how many groups of 32 columns of a panel are spread at once:
	// with the activations of a tile they stay in the L1 cache.
	amxGroups = 16
	// amxColumns is their columns.
	amxColumns = amxGroups * layout.GroupCols
	// amxYield is how many blocks of columns are multiplied, of some 50
	// microseconds each, before the worker yields the processor.
	amxYield = 4
)

// amxScratch is what a worker needs for AMX GEMM.
type amxScratch struct {
	spread []byte    // amxGroups of a panel
	sums   []float32 // [panels][tokens][32]
}

func newAMXScratch() amxScratch {
	return amxScratch{make([]byte, intgemm.UnpackedBytes(amxGroups)), make([]float32, amxPanels*amxTokens*layout.PanelRows)}
}

// amxUnit is one unit: panels [lo, hi) by tiles [first, end), which are tokens
// [from, to).
type amxUnit struct {
	s          *step
	w          *amxScratch
	in         *activations
	tiles      layout.Tiling
	first, end int
	from, to   int
	lo, hi     int
}

func (u *amxUnit) tokens() int { return u.to - u.from }

// sums is the place for the sums of panel i.
func (u *amxUnit) sums(i int) []float32 {
	n := u.tokens() * layout.PanelRows
	return u.w.sums[i*n : (i+1)*n]
}

// runAMX runs a unit of the stage by AMX.
func (l *linears) runAMX(s *step, w *scratch, op *linear, first, end, lo, hi int) {
	u := amxUnit{s: s, w: &w.amxSums, in: l.in, tiles: l.now.tiles, first: first, end: end, lo: lo, hi: hi}
	u.from, _ = u.tiles.At(first)
	u.to, _ = u.tiles.At(end)
	if l.silu == nil {
		u.product(op, 0)
		u.write(op, 0)
		return
	}
	panels := hi - lo
	u.product(&l.ops[0], 0)
	u.product(&l.ops[1], panels)
	if !l.inner {
		u.write(&l.ops[0], 0)
		u.write(&l.ops[1], panels)
		l.activate(s, u.tiles, first, end, lo*layout.PanelRows, min(hi*layout.PanelRows, op.w.rows))
		return
	}
	gate, up := 0, panels
	if l.ops[0].Out != l.silu.Gate {
		gate, up = up, gate
	}
	for i := range panels {
		x := u.sums(gate + i)
		rowops.SiluMul(s.level, x, u.sums(up+i), x)
		for tile := first; tile < end; tile++ {
			t, _ := u.tiles.At(tile)
			l.next.quantise(s.level, u.tiles, tile, (lo+i)*layout.PanelRows, x[(t-u.from)*layout.PanelRows:], layout.PanelRows, layout.PanelRows)
		}
	}
}

// product multiplies into places from at on.
func (u *amxUnit) product(l *linear, at int) {
	panels := u.hi - u.lo
	for i := range panels {
		u.begin(l, u.lo+i, u.sums(at+i))
	}
	blocks := (l.w.cols + amxColumns - 1) / amxColumns
	for b := range blocks * panels {
		weights, groups := l.amxBlock(u.lo+b%panels, b/panels)
		intgemm.UnpackAMX(l.w.form, weights, groups, u.w.spread)
		var next []byte
		if b+1 < blocks*panels {
			next, _ = l.amxBlock(u.lo+(b+1)%panels, (b+1)/panels)
		}
		u.multiply(groups, b/panels*amxColumns, u.sums(at+b%panels), b >= panels || l.adds(), next)
		if (b+1)%(amxYield*panels) == 0 {
			runtime.Gosched()
		}
	}
}

// amxBlock is block b of a panel.
func (l *linear) amxBlock(panel, b int) (weights []byte, groups int) {
	columns := min(amxColumns, l.w.cols-b*amxColumns)
	return l.w.panel(panel)[l.w.form.PanelBytes(b*amxColumns):][:l.w.form.PanelBytes(columns)], columns / layout.GroupCols
}

// multiply computes groups of columns from one on, for each run of tiles of one
// size at once.
func (u *amxUnit) multiply(groups, column int, sums []float32, add bool, next []byte) {
	for first := u.first; first < u.end; {
		t, tokens := u.tiles.At(first)
		end := min(u.end, u.tiles.Alike(first))
		each := intgemm.TileBytes(u.in.width/layout.GroupCols, tokens)
		x := u.in.quantised[intgemm.TileBytes(u.in.width/layout.GroupCols, t)+intgemm.TileBytes(column/layout.GroupCols, tokens):]
		intgemm.MultiplyAMX(u.w.spread, groups, x, tokens, end-first, each, sums[(t-u.from)*layout.PanelRows:], layout.PanelRows, add, next)
		first, next = end, nil
	}
}

// columns is the part of a row of the output that a panel computes.
func (u *amxUnit) columns(l *linear, panel, t int) []float32 {
	at := panel * layout.PanelRows
	return u.s.row(l.Out, t)[at:min(at+layout.PanelRows, l.w.rows)]
}

// begin starts the sums of a panel with the bias and with what is accumulated.
func (u *amxUnit) begin(l *linear, panel int, sums []float32) {
	if !l.adds() {
		return
	}
	for t := range u.tokens() {
		row, output := sums[t*layout.PanelRows:][:layout.PanelRows], u.columns(l, panel, u.from+t)
		l.beginRow(row, output, panel*layout.PanelRows)
		clear(row[len(output):])
	}
}

// write stores the sums of the panels from place at on.
func (u *amxUnit) write(l *linear, at int) {
	y, stride := u.s.buffers[l.Out], u.s.stride(l.Out)
	for i := range u.hi - u.lo {
		sums, column := u.sums(at+i), (u.lo+i)*layout.PanelRows
		for t := range u.tokens() {
			// Whole panels: a buffer's stride has room for the padding of the last one.
			*(*[layout.PanelRows]float32)(y[(u.from+t)*stride+column:]) = *(*[layout.PanelRows]float32)(sums[t*layout.PanelRows:])
		}
	}
}

// keepInside marks the stages whose sums only their SiluMul reads, and whose
// output only the products read that it is packed for. The output may replace one
// of the sums.
func keepInside(p *gpu.Program, stages []stage) {
	readers := otherReaders(p)
	for _, st := range stages {
		switch st := st.(type) {
		case *rowwise:
			for _, op := range st.ops {
				if o, is := op.(siluMul); is {
					readers[o.Gate]++
					readers[o.Up]++
				}
			}
		case packing: // products read what it lays out
			readers[st.in.buffer]++
		}
	}
	for _, st := range stages {
		if l, is := st.(*linears); is && l.silu != nil && l.next != nil && !l.next.narrow {
			l.inner = readers[l.silu.Gate] == 0 && readers[l.silu.Up] == 0 && readers[l.silu.Out] == 0
		}
	}
}

// otherReaders counts, per buffer, the ops that read it, except SiluMul and
// products, which read what a packing or a SiluMul has packed.
func otherReaders(p *gpu.Program) []int {
	n := make([]int, len(p.Buffers))
	for _, op := range p.Ops {
		switch op := op.(type) {
		case gpu.RMSNorm:
			n[op.In]++
		case gpu.Linear:
			if op.Accumulate {
				n[op.Out]++
			}
		case gpu.Rope:
			n[op.X]++
		case gpu.StoreKV:
			n[op.K]++
			n[op.V]++
		case gpu.Attention:
			n[op.Q]++
		case gpu.Gather:
			n[op.In]++
		case gpu.Sample:
			n[op.Logits]++
		}
	}
	return n
}
