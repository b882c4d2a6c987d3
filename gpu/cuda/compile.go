//go:build cuda

package cuda

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

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
	maps  tensorMaps

	step  uint64                   // address of the header of the rows of the ops that are compiled
	fresh map[gpu.Buffer]gpu.DType // buffers whose rounded twin has their present values
	list  []launch
}

// compile makes the launches of all ops. Addresses are those of the pool.
func (c *compiler) compile() (out compiled, err error) {
	ops := c.model.program.Ops
	last := len(ops) - 1
	tail := last
	for i, op := range ops {
		if _, is := op.(gpu.Gather); is {
			tail = i
			break
		}
	}
	if out.body, err = c.part(0, tail, c.steps); err != nil {
		return out, err
	}
	sample := ops[last].(gpu.Sample)
	for t := range ceilDiv(c.pool.spec.StepTokens, c.pool.tile) {
		step := c.steps + uint64(t)*uint64(headerBytes)
		list, err := c.part(tail, last, step)
		if err != nil {
			return out, err
		}
		out.tails = append(out.tails, list)
		out.draws = append(out.draws, [2]launch{c.draw("sample", sample, step), c.draw("score", sample, step)})
	}
	return out, nil
}

// part compiles ops [from, to). step is the address of the header of their rows.
func (c *compiler) part(from, to int, step uint64) ([]launch, error) {
	c.step, c.fresh, c.list = step, map[gpu.Buffer]gpu.DType{}, nil
	for i := from; i < to; {
		n := c.tensor(i, to)
		if n == 0 {
			n = 1
			l, err := c.plain(c.model.program.Ops[i])
			if err != nil {
				return nil, err
			}
			delete(c.fresh, gpu.Written(c.model.program.Ops[i]))
			c.list = append(c.list, l)
		}
		i += n
	}
	return c.list, nil
}

// samplingThreads is the size of a block that samples: see kernels/sampling_list.cuh.
const samplingThreads = 512

func (c *compiler) draw(kernel string, op gpu.Sample, step uint64) launch {
	most := c.pool.samplers
	return launchOf(form{
		function: c.kernel(kernel), block: samplingThreads,
		grid:      func(rows int) driver.Dim { return driver.Dim{X: min(rows, most)} },
		arguments: []uint64{step, c.pool.buffer(op.Logits), c.pool.scratch.Address()},
	})
}

func (c *compiler) width(b gpu.Buffer) int { return c.model.program.Buffers[b].Width }

// count is the address of the number of rows of a buffer.
func (c *compiler) count(b gpu.Buffer) uint64 {
	if c.model.program.Buffers[b].PerOutput {
		return c.step + 4
	}
	return c.step
}

func (c *compiler) kernel(name string) *driver.Function {
	f := c.model.kernels.functions[name]
	if f == nil {
		panic("cuda: no kernel is named " + name)
	}
	return f
}

// pooled is a kernel for the pool's type.
func (c *compiler) pooled(name string) *driver.Function {
	return c.kernel(name + "_" + typeName(c.pool.spec.DType))
}

// bias is the address of a bias; 0: there is none.
func (c *compiler) bias(w gpu.Weight) uint64 {
	if w == gpu.NoWeight {
		return 0
	}
	return c.model.weights.address(w)
}
