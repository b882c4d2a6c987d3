package cpu

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/scan"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// normalizer turns logits into log probabilities by a fast sum, accurate to sumError, until
// a result is so near a rounding border of float32 that it needs the sum in order of ids.
type normalizer struct {
	level           simd.Level
	logits          []float32
	highest, logSum float64
	exact           bool
}

// sumError bounds, relative to the sum, by how much a sum in another order with
// scan.SumExp differs from the one in order of ids: n roundings of 1.1e-16,
// for vocabularies of a million less than 1.2e-10.
const sumError = 2e-10

func newNormalizer(level simd.Level, logits []float32) normalizer {
	n := normalizer{level: level, logits: logits}
	highest, nan := scan.Max(level, logits)
	n.highest = float64(highest)
	if nan || math.IsInf(n.highest, 0) || level == simd.Portable {
		n.sumInOrder()
	} else {
		n.logSum = math.Log(scan.SumExp(level, logits, n.highest, 1))
	}
	return n
}

// sumInOrder computes the sum that defines a log probability.
func (n *normalizer) sumInOrder() {
	var sum float64
	for _, x := range n.logits {
		sum += math.Exp(float64(x) - n.highest)
	}
	n.logSum, n.exact = math.Log(sum), true
}

func (n *normalizer) logprob(x float32) float32 {
	p := float64(x) - n.highest - n.logSum
	if e := sumError + 1e-15*math.Abs(p); !n.exact && float32(p-e) != float32(p+e) {
		n.sumInOrder()
		p = float64(x) - n.highest - n.logSum
	}
	return float32(p)
}

// score reports a token and the top log probabilities.
func (c *candidates) score(norm *normalizer, token int32, top int) gpu.Logprobs {
	out := gpu.Logprobs{Chosen: gpu.TokenLogprob{Token: token, Logprob: norm.logprob(norm.logits[token])}}
	if top > 0 {
		ids := c.first(norm.level, norm.logits, min(top, len(norm.logits)))
		out.Top = make([]gpu.TokenLogprob, len(ids))
		for i, id := range ids {
			out.Top[i] = gpu.TokenLogprob{Token: id, Logprob: norm.logprob(norm.logits[id])}
		}
	}
	return out
}
