package ref

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// sample fills the results from the logits. What a draw is, exactly, so that
// devices can agree on it to the token:
//
//  1. x = the raw logits, float32. For each bias: x += bias.
//  2. For each token of History, all in float32: if it stands in the prompt or
//     the output, x = x/repetition when x > 0, else x*repetition; then
//     x -= frequency*count in the output; then, if it stands in the output,
//     x -= presence.
//  3. Masked: x = -Inf. NaN anywhere, or nothing above -Inf, fails the step.
//  4. Candidates are ordered by x, highest first, ties lower id first.
//     Temperature below 1e-6: the first candidate is drawn, and that is all.
//  5. Weight = exp((x - highest)/temperature) in float64; sums in float64.
//  6. top-k keeps the first k candidates. top-p, of their total weight in
//     order of ids, keeps the shortest run of first candidates whose sum, in
//     order of candidates, reaches top-p of the total (1 or more: all). min-p
//     keeps those whose weight is at least min-p.
//  7. The token drawn is the first, in order of ids, at which the running sum
//     of kept weights exceeds Uniform x their total; the last one with a
//     weight should that product round up to the total.
//
// A log probability is x - highest - log(sum of exp(x - highest)) over the raw
// logits in float64, the sum in order of ids, rounded to float32 at the end.
func (s *step) sample(op gpu.Sample) error {
	for o, t := range s.outputs {
		tok := s.tokens[t]
		seq, res := &s.batch.Sequences[tok.seq], &s.result.Sequences[tok.seq]
		logits := s.row(op.Logits, o)
		if seq.KeepLogits {
			res.Logits = append(res.Logits, slices.Clone(logits))
		}
		if c := seq.Score; c != nil {
			if i := tok.position - c.From; i >= 0 && i < len(c.Targets) {
				res.Scores = append(res.Scores, score(logits, c.Targets[i], c.Top))
			}
		}
		if seq.Sample != nil && tok.position == seq.Start+len(seq.Tokens)-1 {
			id, err := draw(logits, seq.Sample)
			if err != nil {
				return fmt.Errorf("step: sequence %d of %d: %w", tok.seq, len(s.batch.Sequences), err)
			}
			res.Token = id
			if n := seq.Sample.TopLogprobs; n >= 0 {
				chosen := score(logits, id, n)
				res.Chosen = &chosen
			}
		}
	}
	return nil
}

// order is all ids by x, highest first, ties lower id first.
func order(x []float32) []int32 {
	ids := make([]int32, len(x))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortStableFunc(ids, func(a, b int32) int {
		switch {
		case x[a] > x[b]:
			return -1
		case x[a] < x[b]:
			return 1
		}
		return 0
	})
	return ids
}

// score is log probability of a token and of the likeliest.
func score(logits []float32, token int32, top int) gpu.Scored {
	ids := order(logits)
	highest := float64(logits[ids[0]])
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x) - highest)
	}
	logprob := func(id int32) float32 { return float32(float64(logits[id]) - highest - math.Log(sum)) }
	out := gpu.Scored{Token: token, Logprob: logprob(token)}
	for _, id := range ids[:min(top, len(ids))] {
		out.Top = append(out.Top, gpu.TokenLogprob{Token: id, Logprob: logprob(id)})
	}
	return out
}

// draw picks the next token.
func draw(logits []float32, spec *gpu.SampleSpec) (int32, error) {
	x := slices.Clone(logits)
	adjust(x, spec)
	for id, v := range x {
		if v != v {
			return 0, fmt.Errorf("the logit of token %d is not a number; the weights or the KV pool overflow", id)
		}
	}
	ids := order(x)
	highest := x[ids[0]]
	if math.IsInf(float64(highest), -1) {
		return 0, errors.New("nothing is left to draw: mask and bias exclude every token")
	}
	if spec.Temperature < 1e-6 {
		return ids[0], nil
	}
	weight := make([]float64, len(x))
	for id, v := range x {
		if v == highest {
			weight[id] = 1 // also where both are infinite
		} else {
			weight[id] = math.Exp((float64(v) - float64(highest)) / float64(spec.Temperature))
		}
	}
	if k := int(spec.TopK); k > 0 && k < len(ids) {
		ids = ids[:k]
	}
	if spec.TopP < 1 {
		total, sum, n := total(ids, weight), 0.0, 0
		for n == 0 || n < len(ids) && sum < float64(spec.TopP)*total {
			sum += weight[ids[n]]
			n++
		}
		ids = ids[:n]
	}
	ids = slices.DeleteFunc(ids, func(id int32) bool { return weight[id] < float64(spec.MinP) })
	goal := gpu.Uniform(spec.Seed, spec.Choice, spec.Position) * total(ids, weight)
	slices.Sort(ids)
	var sum float64
	var last int32
	for _, id := range ids {
		if sum += weight[id]; sum > goal {
			return id, nil
		}
		if weight[id] > 0 {
			last = id
		}
	}
	return last, nil // Uniform x total was rounded up to the total
}

// total is the sum of weights in order of ids.
func total(ids []int32, weight []float64) float64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var sum float64
	for _, id := range ids {
		sum += weight[id]
	}
	return sum
}

// adjust applies bias, penalties and mask.
func adjust(x []float32, spec *gpu.SampleSpec) {
	for _, b := range spec.Bias {
		x[b.Token] += b.Bias
	}
	for _, h := range spec.History {
		v := x[h.Token]
		if h.InPrompt || h.Output > 0 {
			if v > 0 {
				v /= spec.RepetitionPenalty
			} else {
				v *= spec.RepetitionPenalty
			}
		}
		v -= float32(spec.FrequencyPenalty * float32(h.Output)) // never fused
		if h.Output > 0 {
			v -= spec.PresencePenalty
		}
		x[h.Token] = v
	}
	for _, id := range spec.Mask {
		x[id] = float32(math.Inf(-1))
	}
}
