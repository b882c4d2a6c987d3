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

// mostProducts is how many matrices a kernel multiplies one input with.
const mostProducts = 3

// productsAt are the Linears from op i on that one launch can compute: they have the same
// input, and none writes what another one reads or writes.
func productsAt(ops []gpu.Op, i int) (list []gpu.Linear) {
	for _, op := range ops[i:] {
		l, is := op.(gpu.Linear)
		if !is || len(list) == mostProducts {
			break
		}
		same := func(other gpu.Linear) bool { return other.Out == l.Out }
		if len(list) > 0 && (l.In != list[0].In || l.Accumulate != list[0].Accumulate || l.Out == l.In || slices.ContainsFunc(list, same)) {
			break
		}
		list = append(list, l)
	}
	return list
}
