package cpu

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/scan"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// sampling is the last stage; a unit is one output. gpu/ref defines what
// sampling and a log probability are, to the bit.
type sampling struct{ op gpu.Sample }

func (o *sampling) units(s *step) int { return s.tile }

func (o *sampling) run(s *step, w *scratch, unit int) error {
	out := &s.outputs[s.first+unit]
	seq := &s.sequences[out.seq]
	res := seq.Result
	logits := s.row(o.op.Logits, unit)
	if out.keep >= 0 {
		copy(res.Logits[out.keep], logits)
	}
	var norm normalizer
	if out.score >= 0 || out.sample && seq.Sample.TopLogprobs >= 0 {
		norm = newNormalizer(s.level, logits)
	}
	if out.score >= 0 {
		res.Scores[out.score] = w.candidates.score(&norm, seq.Score.Targets[out.score], seq.Score.Top)
	}
	if !out.sample {
		return nil
	}
	id, err := w.candidates.sample(s.level, logits, seq.Sample)
	switch {
	case err == gpu.ErrNothingToSample:
		res.Err = err
		return nil
	case err != nil:
		return fmt.Errorf("row %d: %w", seq.Row, err)
	}
	res.Tokens = append(res.Tokens, id)
	if n := seq.Sample.TopLogprobs; n >= 0 {
		res.Logprobs = []gpu.Logprobs{w.candidates.score(&norm, id, n)}
	}
	return nil
}

// normalizer turns logits into log probabilities. It uses a fast sum, accurate to
// sumError, until a result is so near to a rounding border of float32 that the
// sum in order of ids is needed.
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

// adjusted returns the logits after bias, penalties and masks: a copy, or the logits
// themselves if nothing changes.
func (c *candidates) adjusted(logits []float32, spec *rows.Sample) []float32 {
	if len(spec.Bias) == 0 && len(spec.Mask) == 0 && len(spec.History) == 0 && spec.Allowed == nil {
		return logits
	}
	c.x = append(c.x[:0], logits...)
	for _, b := range spec.Bias {
		c.x[b.Token] += b.Bias
	}
	for i := range spec.History {
		h := &spec.History[i]
		c.x[h.Token] = penalize(c.x[h.Token], h, spec.Sampling)
	}
	excluded := float32(math.Inf(-1))
	for _, id := range spec.Mask {
		c.x[id] = excluded
	}
	for i, word := range spec.Allowed {
		part := c.x[i*32 : min((i+1)*32, len(c.x))]
		for j := range part {
			if word>>j&1 == 0 {
				part[j] = excluded
			}
		}
	}
	return c.x
}

func penalize(x float32, h *rows.TokenCount, spec *gpu.Sampling) float32 {
	if h.InPrompt || h.Output > 0 {
		if x > 0 {
			x /= spec.RepetitionPenalty
		} else {
			x = float32(x * spec.RepetitionPenalty)
		}
	}
	x -= float32(spec.FrequencyPenalty * float32(h.Output))
	if h.Output > 0 {
		x -= spec.PresencePenalty
	}
	return x
}
