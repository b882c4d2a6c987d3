//go:build cuda

package cuda

import (
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

const noBuffer gpu.Buffer = -1

// written is the buffer that an op overwrites or adds to; noBuffer: it writes none.
func written(op gpu.Op) gpu.Buffer {
	switch op := op.(type) {
	case gpu.Embed:
		return op.Out
	case gpu.RMSNorm:
		return op.Out
	case gpu.Linear:
		return op.Out
	case gpu.Rope:
		return op.X
	case gpu.Attention:
		return op.Out
	case gpu.SiluMul:
		return op.Out
	case gpu.Gather:
		return op.Out
	}
	return noBuffer
}

// read are the buffers that an op reads, without the input of a Linear.
func read(op gpu.Op) []gpu.Buffer {
	switch op := op.(type) {
	case gpu.RMSNorm:
		return []gpu.Buffer{op.In}
	case gpu.Linear:
		if op.Accumulate {
			return []gpu.Buffer{op.Out}
		}
	case gpu.Rope:
		return []gpu.Buffer{op.X}
	case gpu.StoreKV:
		return []gpu.Buffer{op.K, op.V}
	case gpu.Attention:
		return []gpu.Buffer{op.Q}
	case gpu.SiluMul:
		return []gpu.Buffer{op.Gate, op.Up}
	case gpu.Gather:
		return []gpu.Buffer{op.In}
	case gpu.Sample:
		return []gpu.Buffer{op.Logits}
	}
	return nil
}

// roundedOnly is the type to which op i may round its result instead of writing float32:
// what reads it until it is written again are products on tensor cores with weights of one
// type. Otherwise it reports false.
func (c *compiler) roundedOnly(i int) (gpu.DType, bool) {
	ops := c.model.program.Ops
	b := written(ops[i])
	var to gpu.DType
	found := false
	for _, op := range ops[i+1:] {
		if slices.Contains(read(op), b) {
			return 0, false
		}
		if l, is := op.(gpu.Linear); is && l.In == b {
			t, is := c.rounds(l)
			if !is || found && t != to {
				return 0, false
			}
			to, found = t, true
		}
		if written(op) == b {
			break
		}
	}
	return to, found
}
