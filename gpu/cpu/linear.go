package cpu

import (
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
)

// linear is one gpu.Linear.
type linear struct {
	gpu.Linear
	w    *matrix
	bias []float32 // nil: none
}

func newLinear(p *gpu.Program, weights []matrix, op gpu.Linear) linear {
	l := linear{Linear: op, w: &weights[op.W]}
	if op.Bias != gpu.NoWeight {
		l.bias = weights[op.Bias].f32
	}
	return l
}

// linears is a stage of Linears over one input. A unit is a run of output
// columns of one of them for all rows; with silu, of both of them.
type linears struct {
	threads int
	ops     []linear
	silu    *gpu.SiluMul // at the end of a unit, or nil
}

// join adds a Linear that reads the same input and writes elsewhere.
func (l *linears) join(op linear) bool {
	if l.silu != nil || op.In != l.ops[0].In {
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
	if l.silu != nil || len(l.ops) != 2 || op.Out == l.ops[0].In {
		return false
	}
	outs := []gpu.Buffer{l.ops[0].Out, l.ops[1].Out}
	if op.Gate == op.Up || !slices.Contains(outs, op.Gate) || !slices.Contains(outs, op.Up) {
		return false
	}
	l.silu = &op
	return true
}

// unitCost is the multiplications of a unit, about: 20 microseconds.
const unitCost = 1 << 16

// columns is the width of a unit, a multiple of 4.
func (l *linears) columns(rows int) int {
	each := rows * l.ops[0].w.cols
	if l.silu != nil {
		each *= 2
	}
	widest := 0
	for i := range l.ops {
		widest = max(widest, l.ops[i].w.rows)
	}
	n := max(4, unitCost/max(1, each)) &^ 3
	// At least so wide that there are not too many units, at most so wide that
	// every worker has some.
	return max(4, min(n, (widest/l.threads+3)&^3))
}

func (l *linears) units(s *step) int {
	rows := s.rows(l.ops[0].In)
	if rows == 0 {
		return 0
	}
	n, units := l.columns(rows), 0
	for i := range l.ops {
		units += (l.ops[i].w.rows + n - 1) / n
		if l.silu != nil {
			break
		}
	}
	return units
}

func (l *linears) run(s *step, w *scratch, unit int) error {
	n := l.columns(s.rows(l.ops[0].In))
	for i := range l.ops {
		op := &l.ops[i]
		blocks := (op.w.rows + n - 1) / n
		if unit >= blocks {
			unit -= blocks
			continue
		}
		lo, hi := unit*n, min(unit*n+n, op.w.rows)
		if l.silu == nil {
			op.run(s, w, lo, hi)
			break
		}
		l.ops[0].run(s, w, lo, hi)
		l.ops[1].run(s, w, lo, hi)
		for r := range s.rows(op.In) {
			kernel.SiluMul(s.level, s.row(l.silu.Gate, r)[lo:hi], s.row(l.silu.Up, r)[lo:hi], s.row(l.silu.Out, r)[lo:hi])
		}
		break
	}
	return nil
}

// run computes output columns [lo, hi) of all rows.
func (l *linear) run(s *step, w *scratch, lo, hi int) {
	rows, cols := s.rows(l.In), l.w.cols
	buf := func(i int) []float32 { return w.rows[i*cols : (i+1)*cols] }
	c := lo
	if rows == 1 && l.w.dtype == gpu.BF16 {
		x, out, w := s.row(l.In, 0), s.row(l.Out, 0), l.w.u16
		for ; c+4 <= hi; c += 4 {
			y, at := [4]float32{}, c*cols
			y[0], y[1], y[2], y[3] = dot4BF16(w[at:at+cols], w[at+cols:at+2*cols], w[at+2*cols:at+3*cols], w[at+3*cols:at+4*cols], x)
			l.put(out[c:c+4], y[:], c)
		}
	}
	for ; c+4 <= hi; c += 4 {
		w0, w1, w2, w3 := l.w.row(c, buf(0)), l.w.row(c+1, buf(1)), l.w.row(c+2, buf(2)), l.w.row(c+3, buf(3))
		for r := range rows {
			y := [4]float32{}
			y[0], y[1], y[2], y[3] = dot4(w0, w1, w2, w3, s.row(l.In, r))
			l.put(s.row(l.Out, r)[c:c+4], y[:], c)
		}
	}
	for ; c < hi; c++ {
		w0 := l.w.row(c, buf(0))
		for r := range rows {
			y := [1]float32{dot(w0, s.row(l.In, r))}
			l.put(s.row(l.Out, r)[c:c+1], y[:], c)
		}
	}
}

// put adds the bias and writes or accumulates columns from c on.
func (l *linear) put(out, y []float32, c int) {
	y = y[:len(out)]
	if l.bias != nil {
		for i, b := range l.bias[c : c+len(out)] {
			y[i] += b
		}
	}
	if !l.Accumulate {
		copy(out, y)
		return
	}
	for i := range out {
		out[i] += y[i]
	}
}
