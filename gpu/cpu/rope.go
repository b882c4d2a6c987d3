package cpu

import (
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
)

// ropeTable holds the cosines, then the sines, of each token's angles. The first Rope with
// its frequencies computes it for all layers.
type ropeTable struct {
	invFreq []float64
	scale   float32
	table   []float32 // [tokens, 2, len(invFreq)]
}

func (t *ropeTable) row(r int) (cos, sin []float32) {
	n := len(t.invFreq)
	row := t.table[r*2*n : (r+1)*2*n]
	return row[:n], row[n:]
}

func (c *compiled) rope(op gpu.Rope) []rowOp {
	n := len(op.InvFreq)
	same := func(t *ropeTable) bool { return t.scale == op.Scale && slices.Equal(t.invFreq, op.InvFreq) }
	i := slices.IndexFunc(c.ropes, same)
	first := i < 0
	if first {
		i, c.ropes = len(c.ropes), append(c.ropes, &ropeTable{invFreq: op.InvFreq, scale: op.Scale})
	}
	t := c.ropes[i]
	rotate := func(s *step, _ *scratch, r int) {
		cos, sin := t.row(r)
		x := s.row(op.X, r)
		for h := 0; h < len(x); h += op.HeadDim {
			rowops.Rotate(s.level, x[h:h+n], x[h+n:h+2*n], cos, sin)
		}
	}
	if !first {
		return []rowOp{rotate}
	}
	return []rowOp{func(s *step, _ *scratch, r int) {
		cos, sin := t.row(r)
		for i, f := range t.invFreq {
			sn, cs := math.Sincos(float64(s.pos[r]) * f)
			cos[i], sin[i] = float32(cs)*t.scale, float32(sn)*t.scale
		}
	}, rotate}
}
