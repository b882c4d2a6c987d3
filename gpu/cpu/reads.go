package cpu

import "github.com/troupe-engine/troupe/gpu"

// WeightBytesRead implements gpu.WeightReader: every matrix that is multiplied
// with and every vector, once each, as they lie in memory. Of an embedding only
// the rows of a step's tokens are read, which are left out.
func (m *model) WeightBytesRead() int64 {
	seen := make([]bool, len(m.weights.all))
	total := int64(0)
	read := func(w gpu.Weight) {
		if w == gpu.NoWeight || seen[w] {
			return
		}
		seen[w] = true
		x := &m.weights.all[w]
		total += int64(len(x.panels)) + 4*int64(len(x.f32))
	}
	for _, op := range m.program.Ops {
		switch op := op.(type) {
		case gpu.Linear:
			read(op.W)
			read(op.Bias)
		case gpu.RMSNorm:
			read(op.Gain)
		}
	}
	return total
}

// Reserve takes zeroed memory from the system, in large pages where there are
// any, for measurements that must not lie on the Go heap. It tells how to give
// it back.
func Reserve(bytes int) ([]byte, func() error, error) { return reserveWeights(bytes) }
