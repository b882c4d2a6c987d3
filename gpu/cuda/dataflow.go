//go:build cuda

package cuda

import (
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// roundedOnly is the type to which op i may round its result instead of writing float32:
// what reads it until it is written again are products on tensor cores with weights of one
// type. Otherwise it reports false.
func (c *compiler) roundedOnly(i int) (gpu.DType, bool) {
	ops := c.model.program.Ops
	b := gpu.Written(ops[i])
	var to gpu.DType
	found := false
	for _, op := range ops[i+1:] {
		if l, is := op.(gpu.Linear); is && l.In == b {
			t, is := c.model.rounds(l)
			if !is || found && t != to {
				return 0, false
			}
			to, found = t, true
		} else if slices.Contains(gpu.Reads(op), b) {
			return 0, false
		}
		if gpu.Written(op) == b {
			break
		}
	}
	return to, found
}
