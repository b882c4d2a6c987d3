//go:build cuda

package cuda

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// Blocks of kernels that go along rows, and how many elements a block takes.
const (
	along  = 256
	perRow = along * 4
)

// Blocks of the kernel linear.
const (
	linearColumns = 32
	linearRows    = 8
	// mostRowBlocks bounds the second dimension of a grid; a block then takes several.
	mostRowBlocks = 65535
)

// normBlock is how many threads a block of RMSNorm has: see kernels/rmsnorm.cuh.
func normBlock(group int) int {
	if group <= 512 {
		return 32
	}
	return 256
}

// plain makes the launch of an op in the plain family, which takes any shape.
func (c *compiler) plain(op gpu.Op) (launch, error) {
	kv, o, w := c.model.program.KV, c.pool, c.model.weights
	weighted := func(name string, i gpu.Weight) *driver.Function {
		return c.kernel(name + "_" + typeName(w.all[i].dtype))
	}
	switch op := op.(type) {
	case gpu.Embed:
		n := c.width(op.Out)
		return launchOf(form{function: weighted("embed", op.Table), block: along, grid: rowsBy(ceilDiv(n, perRow)),
			arguments: []uint64{c.step, w.address(op.Table), o.buffer(op.Out), uint64(n)}}), nil
	case gpu.RMSNorm:
		n := c.width(op.In)
		return launchOf(form{function: c.kernel("rmsnorm"), block: normBlock(op.Group), grid: rowsBy(n / op.Group),
			arguments: []uint64{c.count(op.In), o.buffer(op.In), w.address(op.Gain), o.buffer(op.Out), uint64(n), uint64(op.Group), floatBits(op.Eps)}}), nil
	case gpu.Linear:
		n := c.width(op.Out)
		return launchOf(form{function: weighted("linear", op.W), block: 256,
			grid: func(rows int) driver.Dim {
				return driver.Dim{X: ceilDiv(n, linearColumns), Y: min(ceilDiv(rows, linearRows), mostRowBlocks)}
			},
			arguments: []uint64{c.count(op.In), o.buffer(op.In), w.address(op.W), c.bias(op.Bias), o.buffer(op.Out), uint64(n), uint64(c.width(op.In)), flag(op.Accumulate)}}), nil
	case gpu.Rope:
		n, half := c.width(op.X), len(op.InvFreq)
		return launchOf(form{function: c.kernel("rope"), block: along, grid: rowsBy(max(1, ceilDiv(n/op.HeadDim*half, perRow))),
			arguments: []uint64{c.step, o.buffer(op.X), c.angles(op), uint64(n), uint64(op.HeadDim), uint64(half), floatBits(op.Scale)}}), nil
	case gpu.StoreKV:
		return launchOf(form{function: c.pooled("store_kv"), block: 64, grid: rowsBy(kv.Heads),
			arguments: []uint64{c.step, o.buffer(op.K), o.buffer(op.V), o.keys(op.Layer), o.values(op.Layer), o.keyScales(op.Layer), o.valueScales(op.Layer),
				uint64(kv.Heads), uint64(kv.HeadDim)}}), nil
	case gpu.Attention:
		return launchOf(form{function: c.pooled("attention"), block: 128, grid: rowsBy(op.Heads),
			arguments: []uint64{c.step, o.buffer(op.Q), o.buffer(op.Out), o.keys(op.Layer), o.values(op.Layer), o.keyScales(op.Layer), o.valueScales(op.Layer),
				uint64(op.Heads), uint64(kv.Heads), uint64(kv.HeadDim), floatBits(op.Scale)}}), nil
	case gpu.SiluMul:
		n := c.width(op.Out)
		return launchOf(form{function: c.kernel("silu_mul"), block: along, grid: rowsBy(ceilDiv(n, perRow)),
			arguments: []uint64{c.count(op.Out), o.buffer(op.Gate), o.buffer(op.Up), o.buffer(op.Out), uint64(n)}}), nil
	case gpu.Gather:
		n := c.width(op.Out)
		return launchOf(form{function: c.kernel("gather"), block: along, grid: rowsBy(ceilDiv(n, perRow)),
			arguments: []uint64{c.step, o.buffer(op.In), o.buffer(op.Out), uint64(n)}}), nil
	}
	return launch{}, fmt.Errorf("bug: no kernel for %T; please report this", op)
}

// angles is the address of the table of a Rope op.
func (c *compiler) angles(op gpu.Rope) uint64 {
	for _, t := range c.ropes {
		if t.is(op.InvFreq) {
			return t.memory.Address()
		}
	}
	panic("cuda: a rotary table is missing")
}
