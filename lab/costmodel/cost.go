package costmodel

import "time"

// activationBytes is the size of a number between two layers, BF16.
const activationBytes = 2

// Row is the work of one sequence in a step.
type Row struct {
	Count   int  // tokens computed, at least 1
	Context int  // tokens whose K and V are in the cache before them
	Output  bool // the last token's logits are wanted
}

// Cost is the time of a step by its parts, in seconds.
type Cost struct {
	Linear    float64 // layers' matrix products
	Attention float64
	Head      float64 // the output matrix
	Overhead  float64
}

// Costs is the cost model of one model on one device. Immutable.
//
// Products are converted to float64 before they are added, here and below: so no
// platform fuses the two, and results are the same everywhere.
type Costs struct {
	linearPerToken float64 // s of arithmetic for a token in the layers' matrix products
	linearBytes    float64 // s to read the layers' weights
	linearTraffic  float64 // s to read and write a token's activations
	headPerOutput  float64 // s
	headBytes      float64 // s
	scorePerPair   float64 // s of arithmetic per query and key
	kvPerToken     float64 // s to read or write a token's K and V
	overhead       float64 // s
}

// NewCosts prepares the cost model. All numbers are positive: the tables here and package
// model/config, which reads other shapes, ensure it.
func NewCosts(g GPU, m Model) *Costs {
	layers, weights := float64(m.Layers), m.layerWeights()
	flops := g.peak(m.WeightBytes) * g.Efficiency.Linear
	bytes := g.Bandwidth * g.Efficiency.Memory
	// Each matrix product reads its input and writes its output: three of
	// hidden to heads, one back, two to the MLP and one back.
	widths := float64(5*m.Hidden + 2*m.Heads*m.HeadDim + 2*m.KVHeads*m.HeadDim + 3*m.Intermediate)
	attention := min(g.Peak.BF16, g.peak(m.KVBytes)) * g.Efficiency.Attention
	return &Costs{
		linearPerToken: 2 * layers * weights / flops,
		linearBytes:    layers * weights * float64(m.WeightBytes) / bytes,
		linearTraffic:  layers * widths * activationBytes / bytes,
		headPerOutput:  2 * m.headWeights() / flops,
		headBytes:      m.headWeights() * float64(m.WeightBytes) / bytes,
		// A query times a key and a score times a value, on every head.
		scorePerPair: 4 * layers * float64(m.Heads*m.HeadDim) / attention,
		kvPerToken:   float64(m.KVTokenBytes()) / bytes,
		overhead:     g.StepOverhead.Seconds() + layers*g.LayerOverhead.Seconds(),
	}
}

// Step is the cost of a step. A step without rows costs nothing.
func (c *Costs) Step(rows []Row) Cost {
	if len(rows) == 0 {
		return Cost{}
	}
	tokens, outputs, attention := 0.0, 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		tokens += float64(r.Count)
		if r.Output {
			outputs++
		}
		attention += c.attention(float64(r.Count), float64(r.Context))
	}
	cost := Cost{
		Linear:    max(c.linearPerToken*tokens, c.linearBytes+float64(c.linearTraffic*tokens)),
		Attention: attention,
		Overhead:  c.overhead,
	}
	if outputs > 0 {
		cost.Head = max(c.headPerOutput*outputs, c.headBytes)
	}
	return cost
}

// attention is the time of one row: count queries, each with the keys before it and its
// own, against reading the row's K and V once and writing the new ones.
func (c *Costs) attention(count, context float64) float64 {
	pairs := float64(count*context) + float64(count*(count+1))/2
	return max(c.scorePerPair*pairs, c.kvPerToken*(context+2*count))
}

// StepTime is the time of the whole step, rounded to nanoseconds.
func (c *Costs) StepTime(rows []Row) time.Duration {
	step := c.Step(rows)
	return time.Duration((step.Linear + step.Attention + step.Head + step.Overhead) * 1e9)
}
