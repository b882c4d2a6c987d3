package cpu

import (
	"runtime"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
)

// Blocked GEMM by AMX tiles (intgemm.MultiplyAMX): many rows times matrices that
// come from memory. The multiplications are so fast that everything around them
// counts. Sums stay in the L2 cache until they are complete; those of a SiluMul
// leave it only as the activations of the next GEMM.

const (
	// amxTokens is the maximum number of tokens that are multiplied with a run of panels.
	amxTokens = 512
	// amxPanels is how many panels, of both matrices, share the reading of activations.
	amxPanels = 4
	// amxGroups is how many groups of 32 columns of a panel are unpacked at once:
	// with the activations of a tile they stay in the L1 cache.
	amxGroups = 16
	// amxColumns is their columns.
	amxColumns = amxGroups * layout.GroupCols
	// amxYield is how many blocks of columns, of some 50 microseconds each, are
	// multiplied before the worker yields the processor.
	amxYield = 4
)

// sums is the memory for the sums of panel i of a unit.
func (u *productUnit) sums(i int) []float32 {
	n := (u.to - u.from) * layout.PanelRows
	return u.w.amxSums[i*n : (i+1)*n]
}

func (l *linears) runAMX(u *productUnit, op *linear) {
	if l.silu == nil {
		op.multiplyAMX(u, 0)
		op.writeSums(u, 0)
		return
	}
	panels := u.hi - u.lo
	l.ops[0].multiplyAMX(u, 0)
	l.ops[1].multiplyAMX(u, panels)
	if !l.inner {
		l.ops[0].writeSums(u, 0)
		l.ops[1].writeSums(u, panels)
		l.activate(u)
		return
	}
	gate, up := 0, panels
	if l.ops[0].Out != l.silu.Gate {
		gate, up = up, gate
	}
	for i := range panels {
		x := u.sums(gate + i)
		rowops.SiluMul(u.s.level, x, u.sums(up+i), x)
		for tile := u.first; tile < u.end; tile++ {
			t, _ := u.tiles.At(tile)
			l.next.quantise(u.s.level, u.tiles, tile, (u.lo+i)*layout.PanelRows, x[(t-u.from)*layout.PanelRows:], layout.PanelRows, layout.PanelRows)
		}
	}
}

// multiplyAMX computes the sums of a unit. Those of its first panel are number at.
func (l *linear) multiplyAMX(u *productUnit, at int) {
	panels := u.hi - u.lo
	for i := range panels {
		l.beginSums(u, u.lo+i, u.sums(at+i))
	}
	blocks := (l.w.cols + amxColumns - 1) / amxColumns
	for i := range blocks * panels {
		weights, n := l.block(u.lo+i%panels, i/panels, amxColumns)
		intgemm.UnpackAMX(l.w.form, weights, n/layout.GroupCols, u.w.unpacked)
		var next []byte
		if i+1 < blocks*panels {
			next, _ = l.block(u.lo+(i+1)%panels, (i+1)/panels, amxColumns)
		}
		u.multiplyTiles(n/layout.GroupCols, i/panels*amxColumns, u.sums(at+i%panels), i >= panels || l.adds(), next)
		if (i+1)%(amxYield*panels) == 0 {
			runtime.Gosched()
		}
	}
}

// multiplyTiles multiplies groups of unpacked columns from a column on. Each call of the
// kernel takes a run of tiles of one size.
func (u *productUnit) multiplyTiles(groups, column int, sums []float32, add bool, next []byte) {
	for first := u.first; first < u.end; {
		t, tokens := u.tiles.At(first)
		end := min(u.end, u.tiles.Alike(first))
		each := intgemm.TileBytes(u.in.width/layout.GroupCols, tokens)
		x := u.in.quantised[intgemm.TileBytes(u.in.width/layout.GroupCols, t)+intgemm.TileBytes(column/layout.GroupCols, tokens):]
		intgemm.MultiplyAMX(u.w.unpacked, groups, x, tokens, end-first, each, sums[(t-u.from)*layout.PanelRows:], layout.PanelRows, add, next)
		first, next = end, nil
	}
}

// beginSums starts the sums of a panel with the bias and the output that is added to.
func (l *linear) beginSums(u *productUnit, panel int, sums []float32) {
	if !l.adds() {
		return
	}
	column := panel * layout.PanelRows
	for t := u.from; t < u.to; t++ {
		row := sums[(t-u.from)*layout.PanelRows:][:layout.PanelRows]
		output := u.s.row(l.Out, t)[column:min(column+layout.PanelRows, l.w.rows)]
		l.beginRow(row, output, column)
		clear(row[len(output):])
	}
}

// writeSums stores the sums of a unit; those of its first panel are number at.
func (l *linear) writeSums(u *productUnit, at int) {
	y, stride := u.s.buffers[l.Out], u.s.stride(l.Out)
	for i := range u.hi - u.lo {
		sums, column := u.sums(at+i), (u.lo+i)*layout.PanelRows
		for t := u.from; t < u.to; t++ {
			// Whole panels: a buffer's stride has room for the padding of the last one.
			*(*[layout.PanelRows]float32)(y[t*stride+column:]) = *(*[layout.PanelRows]float32)(sums[(t-u.from)*layout.PanelRows:])
		}
	}
}
