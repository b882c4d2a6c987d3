package cpu

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// stage is a part of a step whose units may run in any order and at once.
type stage interface {
	// units returns how many units the stage has in this step. It is called once
	// before they run, and may store what they have in common.
	units(*step) int
	run(s *step, w *scratch, unit int) error
}

// compiled is a program as stages.
type compiled struct {
	body []stage // before the first Gather: per token
	tail []stage // from the first Gather on: per output
	// bodyCost and tailCost are multiplications by weights per row.
	bodyCost, tailCost int

	ropes      []*ropeTable
	inputs     []*activations // of products
	queryTile  int            // tokens of one sequence that attend together, at most
	queryGroup int            // query heads that share a KV head, at most; 0: no attention
	threads    int
	amx        bool  // some products are for intgemm.MultiplyAMX
	readers    []int // by buffer: see countReaders
}

// knows reports whether compile has a stage for an op.
func knows(op gpu.Op) bool {
	switch op.(type) {
	case gpu.Embed, gpu.RMSNorm, gpu.Linear, gpu.Rope, gpu.StoreKV, gpu.Attention, gpu.SiluMul, gpu.Gather, gpu.Sample:
		return true
	}
	return false
}

// compile turns ops into as few stages as their dependencies allow: Linears
// over the same input run in one stage, with the SiluMul of two of them at the
// end of each unit; ops that work row by row run one after the other in one.
func compile(p *gpu.Program, weights []matrix, o *Options) compiled {
	c := compiled{threads: o.Threads, readers: countReaders(p)}
	tail := false
	for _, op := range p.Ops {
		if a, is := op.(gpu.Attention); is {
			c.queryGroup = max(c.queryGroup, a.Heads/p.KV.Heads)
		}
	}
	c.queryTile = queriesTogether * max(1, queriesShare/max(1, c.queryGroup))
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
			l := newLinear(weights, op, o.int8)
			if tail {
				c.tailCost += l.w.rows * l.w.cols
			} else {
				c.bodyCost += l.w.rows * l.w.cols
			}
			in := c.input(p, op.In)
			in.floats, in.ints = in.floats || !l.ints, in.ints || l.ints
			in.narrow = in.narrow || !l.ints || !intgemm.HasAMX(l.w.form)
			b, is := before.(*linears)
			if is && b.join(l) {
				continue
			}
			rows, alone := before.(*rowwise)
			if is && b.silu != nil && b.silu.Out == op.In {
				b.next = in
			} else {
				*stages = append(*stages, packing{in, alone})
			}
			if alone {
				rows.next = in
			}
			*stages = append(*stages, &linears{in: in, ops: []linear{l}})
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
			rows = &rowwise{tail: tail}
			*stages = append(*stages, rows)
		}
		ops := c.rowOps(p, weights, op)
		if ops == nil {
			panic(fmt.Sprintf("cpu: knows lists %T, for which compile has no stage", op))
		}
		rows.ops = append(rows.ops, ops...)
	}
	c.body, c.tail = splitPacking(c.body), splitPacking(c.tail)
	c.keepInside()
	c.amx = o.level >= simd.AMX && slices.ContainsFunc(c.inputs, func(a *activations) bool { return !a.narrow })
	return c
}

// splitPacking adds a stage of packing after products whose output is read in tiles of
// another size than their own.
func splitPacking(stages []stage) (split []stage) {
	for _, st := range stages {
		split = append(split, st)
		if l, is := st.(*linears); is && l.next != nil && l.next.narrow != l.in.narrow {
			split = append(split, packing{in: l.next})
			l.next = nil
		}
	}
	return split
}

// input returns the layout of a buffer for products.
func (c *compiled) input(p *gpu.Program, b gpu.Buffer) *activations {
	for _, a := range c.inputs {
		if a.buffer == b {
			return a
		}
	}
	a := &activations{buffer: b, width: p.Buffers[b].Width}
	c.inputs = append(c.inputs, a)
	return a
}

// queriesTogether is how many queries of one head attend together: a multiple of
// the rows that the kernels take at a time at every level. There are several such runs
// if fewer than queriesShare share one read of keys and values.
const (
	queriesTogether = 12
	queriesShare    = 8
)

// keepInside marks the stages whose sums only their SiluMul reads, and whose output is
// only read as it is packed for products. The output may replace one of the sums.
func (c *compiled) keepInside() {
	stages := slices.Concat(c.body, c.tail)
	for _, st := range stages {
		if p, is := st.(packing); is {
			c.readers[p.in.buffer]++
		}
	}
	for _, st := range stages {
		if l, is := st.(*linears); is && l.silu != nil && l.next != nil && !l.next.narrow {
			l.inner = c.readers[l.silu.Gate] == 0 && c.readers[l.silu.Up] == 0 && c.readers[l.silu.Out] == 0
		}
	}
}

// countReaders counts, per buffer, the ops that read it, except SiluMul and products,
// which read what a packing or a fused SiluMul has packed.
func countReaders(p *gpu.Program) []int {
	n := make([]int, len(p.Buffers))
	for _, op := range p.Ops {
		if _, is := op.(gpu.SiluMul); is {
			continue
		}
		for _, b := range gpu.Reads(op) {
			if l, is := op.(gpu.Linear); !is || b != l.In {
				n[b]++
			}
		}
	}
	return n
}
