package cpu

import "github.com/troupe-engine/troupe/gpu"

// WeightBytesRead implements gpu.WeightReader: the size in memory of every matrix of a
// product and every vector, counted once. An embedding, of which a step reads only the
// rows of its tokens, is left out.
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
