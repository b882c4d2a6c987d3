package cpu

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
)

// rowOp works on one row at a time.
type rowOp interface {
	row(s *step, w *scratch, r int)
}

// rowwise is a stage of ops that each read and write row r only. A unit is a
// run of rows.
type rowwise struct {
	threads int
	tail    bool
	ops     []rowOp
	// next is where what they leave is laid out, if products read it next. A
	// row alone is laid out here and saves a stage; rows of a tile share lines
	// of memory, which workers had better not.
	next *activations
}

func (o *rowwise) rows(s *step) int {
	if o.tail {
		return s.tile
	}
	return len(s.tokens)
}

func (o *rowwise) units(s *step) int { return min(o.rows(s), 4*o.threads) }

func (o *rowwise) run(s *step, w *scratch, unit int) error {
	lo, hi := span(o.rows(s), o.units(s), unit)
	for r := lo; r < hi; r++ {
		for _, op := range o.ops {
			op.row(s, w, r)
		}
	}
	if o.next != nil && o.rows(s) == 1 {
		o.next.pack(s, s.tiling(o.next), 0, 1, 0, o.next.width)
	}
	return nil
}

type embed struct {
	gpu.Embed
	table *matrix
}

func (o embed) row(s *step, w *scratch, r int) {
	out := s.row(o.Out, r)
	copy(out, o.table.row(int(s.tokens[r]), w.rows))
}

type rmsNorm struct {
	gpu.RMSNorm
	gain []float32
}

func (o rmsNorm) row(s *step, _ *scratch, r int) {
	in, out := s.row(o.In, r), s.row(o.Out, r)
	for g := 0; g < len(in); g += o.Group {
		rowops.RMSNorm(s.level, in[g:g+o.Group], o.gain, out[g:g+o.Group], o.Eps)
	}
}

// ropeTable holds the cosines, then the sines, of each token's angles. It runs
// before the first Rope with its frequencies and serves all layers.
type ropeTable struct {
	invFreq []float64
	scale   float32
	table   []float32 // [tokens, 2, len(invFreq)]
}

func (t *ropeTable) row(s *step, _ *scratch, r int) {
	n := len(t.invFreq)
	cos, sin := t.table[r*2*n:r*2*n+n], t.table[r*2*n+n:(r+1)*2*n]
	for i, f := range t.invFreq {
		sn, cs := math.Sincos(float64(s.pos[r]) * f)
		cos[i], sin[i] = float32(cs)*t.scale, float32(sn)*t.scale
	}
}

type rope struct {
	gpu.Rope
	angles *ropeTable
}

func (o rope) row(s *step, _ *scratch, r int) {
	n := len(o.InvFreq)
	cos, sin := o.angles.table[r*2*n:r*2*n+n], o.angles.table[r*2*n+n:(r+1)*2*n]
	x := s.row(o.X, r)
	for h := 0; h < len(x); h += o.HeadDim {
		rowops.Rotate(s.level, x[h:h+n], x[h+n:h+2*n], cos, sin)
	}
}

type storeKV struct {
	gpu.StoreKV
	shape gpu.KVSpec
}

func (o storeKV) row(s *step, w *scratch, r int) {
	k, v, n := s.row(o.K, r), s.row(o.V, r), o.shape.HeadDim
	at := s.pool.at(int(s.slots[r]))
	for h := range o.shape.Heads {
		keys, values := s.pool.plane(o.Layer, h)
		s.pool.store(s.level, w, keys+at, k[h*n:(h+1)*n], true)
		s.pool.store(s.level, w, values+at, v[h*n:(h+1)*n], false)
	}
}

type siluMul struct{ gpu.SiluMul }

func (o siluMul) row(s *step, _ *scratch, r int) {
	rowops.SiluMul(s.level, s.row(o.Gate, r), s.row(o.Up, r), s.row(o.Out, r))
}

type gather struct{ gpu.Gather }

func (o gather) row(s *step, _ *scratch, r int) {
	copy(s.row(o.Out, r), s.row(o.In, s.outputs[s.first+r].row))
}
