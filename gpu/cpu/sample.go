package cpu

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu"
)

// sampling is the last stage; a unit is one output. gpu/ref says what a draw
// and a log probability are, to the bit.
type sampling struct{ op gpu.Sample }

func (o *sampling) units(s *step) int { return s.tile }

func (o *sampling) run(s *step, w *scratch, unit int) error {
	out := &s.outputs[s.first+unit]
	seq, res := &s.batch.Sequences[out.seq], &s.result.Sequences[out.seq]
	logits := s.row(o.op.Logits, unit)
	if out.keep >= 0 {
		copy(res.Logits[out.keep], logits)
	}
	var norm normalizer
	if out.score >= 0 || out.sample && seq.Sample.TopLogprobs >= 0 {
		norm = newNormalizer(logits)
	}
	if out.score >= 0 {
		res.Scores[out.score] = w.candidates.score(logits, norm, seq.Score.Targets[out.score], seq.Score.Top)
	}
	if !out.sample {
		return nil
	}
	id, err := w.candidates.draw(logits, seq.Sample)
	if err != nil {
		return fmt.Errorf("sequence %d: %w", out.seq, err)
	}
	res.Token = id
	if n := seq.Sample.TopLogprobs; n >= 0 {
		chosen := w.candidates.score(logits, norm, id, n)
		res.Chosen = &chosen
	}
	return nil
}

// normalizer turns logits into log probabilities.
type normalizer struct{ highest, logSum float64 }

func newNormalizer(logits []float32) normalizer {
	highest := logits[0]
	for _, x := range logits {
		if x > highest {
			highest = x
		}
	}
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x) - float64(highest))
	}
	return normalizer{float64(highest), math.Log(sum)}
}

func (n normalizer) logprob(x float32) float32 {
	return float32(float64(x) - n.highest - n.logSum)
}

// score reports a token and the likeliest ones.
func (c *candidates) score(logits []float32, norm normalizer, token int32, top int) gpu.Scored {
	out := gpu.Scored{Token: token, Logprob: norm.logprob(logits[token])}
	if top > 0 {
		ids := c.first(logits, min(top, len(logits)))
		out.Top = make([]gpu.TokenLogprob, len(ids))
		for i, id := range ids {
			out.Top[i] = gpu.TokenLogprob{Token: id, Logprob: norm.logprob(logits[id])}
		}
	}
	return out
}

// adjusted is the logits after bias, penalties and mask: a copy, or the logits
// themselves where nothing changes.
func (c *candidates) adjusted(logits []float32, spec *gpu.SampleSpec) []float32 {
	penal := spec.RepetitionPenalty != 1 || spec.FrequencyPenalty != 0 || spec.PresencePenalty != 0
	if len(spec.Bias) == 0 && len(spec.Mask) == 0 && !(penal && len(spec.History) > 0) {
		return logits
	}
	c.x = append(c.x[:0], logits...)
	for _, b := range spec.Bias {
		c.x[b.Token] += b.Bias
	}
	if penal {
		for i := range spec.History {
			h := &spec.History[i]
			c.x[h.Token] = penalize(c.x[h.Token], h, spec)
		}
	}
	for _, id := range spec.Mask {
		c.x[id] = float32(math.Inf(-1))
	}
	return c.x
}

func penalize(x float32, h *gpu.TokenCount, spec *gpu.SampleSpec) float32 {
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
