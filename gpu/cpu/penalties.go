package cpu

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/rows"
)

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
		switch word {
		case 0:
			for j := range part {
				part[j] = excluded
			}
		case 1<<32 - 1:
		default:
			keep(part, word)
		}
	}
	return c.x
}

// keep excludes the logits of the bits that are not set. Where they are is hard to predict, so
// it has no branches.
func keep(part []float32, bits uint32) {
	excluded := math.Float32bits(float32(math.Inf(-1)))
	for j := range part {
		all := -(bits & 1)
		part[j] = math.Float32frombits(math.Float32bits(part[j])&all | excluded&^all)
		bits >>= 1
	}
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
