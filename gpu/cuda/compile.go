//go:build cuda

package cuda

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// launch is one run of a kernel with everything but the number of rows.
type launch struct {
	function  *driver.Function
	block     int
	grid      func(rows int) driver.Dim
	arguments []uint64
}

// compiled is a program as launches, for a pool.
type compiled struct {
	body  []launch   // before the first Gather: rows are tokens
	tails [][]launch // from the first Gather on, by tile: rows are outputs of the tile
	// draws are, by tile, sample and score: rows are their entries.
	draws [][2]launch
}

// compiler turns ops into launches.
type compiler struct {
	model *model
	pool  *pool
	ropes []*ropeTable
	steps uint64 // address of the headers, one per tile
}

// compile makes the launches of all ops. Addresses are those of the pool.
func (c *compiler) compile() (compiled, error) {
	p := c.model.program
	var out compiled
	var tail []gpu.Op
	for i, op := range p.Ops {
		if _, is := op.(gpu.Gather); is {
			tail = p.Ops[i : len(p.Ops)-1]
			break
		}
		if _, is := op.(gpu.Sample); is {
			break
		}
		l, err := c.op(op, c.steps)
		if err != nil {
			return out, err
		}
		out.body = append(out.body, l)
	}
	tiles := (c.pool.spec.StepTokens + c.pool.tile - 1) / c.pool.tile
	sample := p.Ops[len(p.Ops)-1].(gpu.Sample)
	for t := range tiles {
		step := c.steps + uint64(t)*uint64(headerBytes)
		var list []launch
		for _, op := range tail {
			l, err := c.op(op, step)
			if err != nil {
				return out, err
			}
			list = append(list, l)
		}
		out.tails = append(out.tails, list)
		out.draws = append(out.draws, [2]launch{c.draw("sample", sample, step), c.draw("score", sample, step)})
	}
	return out, nil
}

// samplingThreads is the size of a block that samples: see kernels/sampling_list.cuh.
const samplingThreads = 512

func (c *compiler) draw(kernel string, op gpu.Sample, step uint64) launch {
	most := c.pool.samplers
	return launch{c.model.kernels.functions[kernel], samplingThreads, func(rows int) driver.Dim { return driver.Dim{X: min(rows, most)} },
		[]uint64{step, c.pool.buffer(op.Logits), c.pool.scratch.Address()}}
}

// Blocks of kernels that go along rows, and how many elements each thread takes.
const (
	along   = 256
	perRow  = along * 4
	columns = 32 // of a block of linear
	rowsOf  = 8  // of a block of linear
	// mostRowBlocks bounds the second dimension of a grid; a block then takes several.
	mostRowBlocks = 65535
)

// rowsBy is a grid of rows and parts.
func rowsBy(parts int) func(int) driver.Dim {
	return func(rows int) driver.Dim { return driver.Dim{X: rows, Y: parts} }
}

func partsOf(width int) int { return (width + perRow - 1) / perRow }

// op makes the launch of an op. step is the address of the header of its rows.
func (c *compiler) op(op gpu.Op, step uint64) (launch, error) {
	p, o, w := c.model.program, c.pool, &c.model.weights
	width := func(b gpu.Buffer) int { return p.Buffers[b].Width }
	count := func(b gpu.Buffer) uint64 { // address of the number of rows
		if p.Buffers[b].PerOutput {
			return step + 4
		}
		return step
	}
	kernel := func(name string) *driver.Function {
		f := c.model.kernels.functions[name]
		if f == nil {
			panic("cuda: there is no kernel " + name)
		}
		return f
	}
	pooled := func(name string) *driver.Function { return kernel(name + "_" + typeName(o.spec.DType)) }
	weighted := func(name string, i gpu.Weight) *driver.Function {
		return kernel(name + "_" + typeName(w.all[i].dtype))
	}
	switch op := op.(type) {
	case gpu.Embed:
		return launch{weighted("embed", op.Table), along, rowsBy(partsOf(width(op.Out))),
			[]uint64{step, w.address(op.Table), o.buffer(op.Out), uint64(width(op.Out))}}, nil
	case gpu.RMSNorm:
		block := 256
		if op.Group <= 512 {
			block = 32
		}
		return launch{kernel("rmsnorm"), block, rowsBy(width(op.In) / op.Group),
			[]uint64{count(op.In), o.buffer(op.In), w.address(op.Gain), o.buffer(op.Out), uint64(width(op.In)), uint64(op.Group), floatBits(op.Eps)}}, nil
	case gpu.Linear:
		bias := uint64(0)
		if op.Bias != gpu.NoWeight {
			bias = w.address(op.Bias)
		}
		n := width(op.Out)
		add := uint64(0)
		if op.Accumulate {
			add = 1
		}
		return launch{weighted("linear", op.W), 256, func(rows int) driver.Dim {
			return driver.Dim{X: (n + columns - 1) / columns, Y: min((rows+rowsOf-1)/rowsOf, mostRowBlocks)}
		}, []uint64{count(op.In), o.buffer(op.In), w.address(op.W), bias, o.buffer(op.Out), uint64(n), uint64(width(op.In)), add}}, nil
	case gpu.Rope:
		for _, t := range c.ropes {
			if t.is(op.InvFreq) {
				pairs := width(op.X) / op.HeadDim * len(op.InvFreq)
				return launch{kernel("rope"), along, rowsBy(max(1, partsOf(pairs))),
					[]uint64{step, o.buffer(op.X), t.memory.Address(), uint64(width(op.X)), uint64(op.HeadDim), uint64(len(op.InvFreq)), floatBits(op.Scale)}}, nil
			}
		}
	case gpu.StoreKV:
		return launch{pooled("store_kv"), 64, rowsBy(p.KV.Heads),
			[]uint64{step, o.buffer(op.K), o.buffer(op.V), o.keys(op.Layer), o.values(op.Layer), o.keyScales(op.Layer), o.valueScales(op.Layer), uint64(p.KV.Heads), uint64(p.KV.HeadDim)}}, nil
	case gpu.Attention:
		return launch{pooled("attention"), 128, rowsBy(op.Heads),
			[]uint64{step, o.buffer(op.Q), o.buffer(op.Out), o.keys(op.Layer), o.values(op.Layer), o.keyScales(op.Layer), o.valueScales(op.Layer),
				uint64(op.Heads), uint64(p.KV.Heads), uint64(p.KV.HeadDim), floatBits(op.Scale)}}, nil
	case gpu.SiluMul:
		return launch{kernel("silu_mul"), along, rowsBy(partsOf(width(op.Out))),
			[]uint64{count(op.Out), o.buffer(op.Gate), o.buffer(op.Up), o.buffer(op.Out), uint64(width(op.Out))}}, nil
	case gpu.Gather:
		return launch{kernel("gather"), along, rowsBy(partsOf(width(op.Out))),
			[]uint64{step, o.buffer(op.In), o.buffer(op.Out), uint64(width(op.Out))}}, nil
	}
	return launch{}, fmt.Errorf("bug: no kernel for %T; please report this", op)
}

// floatBits is a float as an argument of a kernel.
func floatBits(f float32) uint64 { return uint64(math.Float32bits(f)) }
