package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
)

// rowOp computes row r of one op.
type rowOp func(s *step, w *scratch, r int)

// rowwise is a stage of ops that each read and write row r only. A unit is a run of rows.
type rowwise struct {
	tail bool
	ops  []rowOp
	// next is where the output is laid out if products read it next. This stage lays
	// out a single row, which saves a stage. Rows of a tile share cache lines, which
	// different workers should not write.
	next *activations
}

func (o *rowwise) rows(s *step) int {
	if o.tail {
		return s.tile
	}
	return len(s.tokens)
}

func (o *rowwise) units(s *step) int { return min(o.rows(s), 4*s.threads) }

func (o *rowwise) run(s *step, w *scratch, unit int) error {
	lo, hi := span(o.rows(s), o.units(s), unit)
	for r := lo; r < hi; r++ {
		for _, op := range o.ops {
			op(s, w, r)
		}
	}
	if o.next != nil && o.rows(s) == 1 {
		o.next.pack(s, s.tiling(o.next), 0, 1, 0, o.next.width)
	}
	return nil
}

// rowOps returns the functions of an op that works row by row; none for another op.
func (c *compiled) rowOps(p *gpu.Program, weights []matrix, op gpu.Op) []rowOp {
	switch op := op.(type) {
	case gpu.Embed:
		table := &weights[op.Table]
		return []rowOp{func(s *step, w *scratch, r int) {
			copy(s.row(op.Out, r), table.row(int(s.tokens[r]), w.rows))
		}}
	case gpu.RMSNorm:
		gain := weights[op.Gain].f32
		return []rowOp{func(s *step, _ *scratch, r int) {
			in, out := s.row(op.In, r), s.row(op.Out, r)
			for g := 0; g < len(in); g += op.Group {
				rowops.RMSNorm(s.level, in[g:g+op.Group], gain, out[g:g+op.Group], op.Eps)
			}
		}}
	case gpu.Rope:
		return c.rope(op)
	case gpu.StoreKV:
		n := p.KV.HeadDim
		return []rowOp{func(s *step, w *scratch, r int) {
			k, v, at := s.row(op.K, r), s.row(op.V, r), s.pool.at(int(s.slots[r]))
			for h := range p.KV.Heads {
				keys, values := s.pool.plane(op.Layer, h)
				s.pool.store(s.level, w, keys+at, k[h*n:(h+1)*n], true)
				s.pool.store(s.level, w, values+at, v[h*n:(h+1)*n], false)
			}
		}}
	case gpu.SiluMul:
		c.readers[op.Gate]++
		c.readers[op.Up]++
		return []rowOp{func(s *step, _ *scratch, r int) {
			rowops.SiluMul(s.level, s.row(op.Gate, r), s.row(op.Up, r), s.row(op.Out, r))
		}}
	case gpu.Gather:
		return []rowOp{func(s *step, _ *scratch, r int) {
			copy(s.row(op.Out, r), s.row(op.In, s.outputs[s.first+r].row))
		}}
	}
	return nil
}
