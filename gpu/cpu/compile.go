package cpu

import (
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// stage is a part of a step whose units may run in any order and at once.
type stage interface {
	// units tells how many units the stage has in this step.
	units(*step) int
	run(s *step, w *scratch, unit int) error
}

// compiled is a program as stages.
type compiled struct {
	body []stage // before the first Gather: per token
	tail []stage // from the first Gather on: per output
	// bodyCost and tailCost are multiplications by weights per row.
	bodyCost, tailCost int

	ropes     []*ropeTable
	queryTile int // tokens of one sequence that attend together
	queries   int // rows of queries in a unit of attention, at most
	threads   int
}

// compile turns ops into as few stages as their dependencies allow: Linears
// over the same input run in one stage, with the SiluMul of two of them at the
// end of each unit; ops that work row by row run one after the other in one.
func compile(p *gpu.Program, weights []matrix, threads int) compiled {
	c := compiled{threads: threads, queryTile: 16, queries: 1}
	tail := false
	for _, op := range p.Ops {
		if a, is := op.(gpu.Attention); is {
			group := a.Heads / p.KV.Heads
			c.queryTile = min(c.queryTile, max(1, 64/group))
			c.queries = max(c.queries, group)
		}
	}
	c.queries *= c.queryTile
	for _, op := range p.Ops {
		if _, is := op.(gpu.Gather); is {
			tail = true
		}
		stages := &c.body
		if tail {
			stages = &c.tail
		}
		var before stage
		if n := len(*stages); n > 0 {
			before = (*stages)[n-1]
		}
		switch op := op.(type) {
		case gpu.Linear:
			l := newLinear(p, weights, op)
			if tail {
				c.tailCost += l.w.rows * l.w.cols
			} else {
				c.bodyCost += l.w.rows * l.w.cols
			}
			if b, is := before.(*linears); !is || !b.join(l) {
				*stages = append(*stages, &linears{threads: threads, ops: []linear{l}})
			}
			continue
		case gpu.SiluMul:
			if b, is := before.(*linears); is && b.fuse(op) {
				continue
			}
		case gpu.Attention:
			*stages = append(*stages, &attention{op: op, group: op.Heads / p.KV.Heads})
			continue
		case gpu.Sample:
			*stages = append(*stages, &sampling{op: op})
			continue
		}
		rows, is := before.(*rowwise)
		if !is {
			rows = &rowwise{threads: threads, tail: tail}
			*stages = append(*stages, rows)
		}
		rows.ops = append(rows.ops, c.rowOps(p, weights, op)...)
	}
	return c
}

// rowOps makes the ops that work row by row.
func (c *compiled) rowOps(p *gpu.Program, weights []matrix, op gpu.Op) []rowOp {
	switch op := op.(type) {
	case gpu.Embed:
		return []rowOp{embed{op, &weights[op.Table]}}
	case gpu.RMSNorm:
		return []rowOp{rmsNorm{op, weights[op.Gain].f32}}
	case gpu.Rope:
		same := func(r *ropeTable) bool { return r.scale == op.Scale && slices.Equal(r.invFreq, op.InvFreq) }
		if i := slices.IndexFunc(c.ropes, same); i >= 0 {
			return []rowOp{rope{op, c.ropes[i]}}
		}
		t := &ropeTable{invFreq: op.InvFreq, scale: op.Scale}
		c.ropes = append(c.ropes, t)
		return []rowOp{t, rope{op, t}}
	case gpu.StoreKV:
		return []rowOp{storeKV{op, p.KV}}
	case gpu.SiluMul:
		return []rowOp{siluMul{op}}
	case gpu.Gather:
		return []rowOp{gather{op}}
	}
	panic("cpu: an op passed Program.Check that no stage is known for")
}

// scratch is what one worker needs beside the buffers.
type scratch struct {
	rows   []float32 // four widened rows of a matrix
	kv     []float32 // a widened block of keys, then one of values
	keys   [block]int
	values [block]int
	scores [block]float32
	peak   []float32 // per query row: highest score so far
	total  []float32 // per query row: sum of exp(score - peak)

	candidates candidates
}

func newScratch(p *gpu.Program, c *compiled) *scratch {
	widest := 0
	for _, b := range p.Buffers {
		widest = max(widest, b.Width)
	}
	return &scratch{
		rows:  make([]float32, 4*widest),
		kv:    make([]float32, 2*block*p.KV.HeadDim),
		peak:  make([]float32, c.queries),
		total: make([]float32, c.queries),
	}
}

func (w *scratch) bytes() int64 {
	return 4*int64(len(w.rows)+len(w.kv)+2*len(w.peak)) + w.candidates.bytes()
}
