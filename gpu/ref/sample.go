package ref

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// sample fills the results from the logits. What sampling is, exactly, so that
// devices can agree on it to the token:
//
//  1. x = the raw logits, float32. For each bias: x += bias.
//  2. For each token of History, all in float32: if it is in the prompt or the
//     output, x = x/repetition when x > 0, else x*repetition; then
//     x -= frequency*count in the output; then, if it is in the output,
//     x -= presence.
//  3. Masked, or not allowed: x = -Inf. NaN anywhere fails the step; nothing
//     above -Inf is the row's outcome, gpu.ErrNothingToSample.
//  4. Candidates are ordered by x, highest first, ties lower id first.
//     Temperature below 1e-6: the first candidate is taken, and nothing else happens.
//  5. Weight = exp((x - highest)/temperature) in float64; sums in float64.
//  6. top-k keeps the first k candidates. top-p, of their total weight in
//     order of ids, keeps the shortest run of first candidates whose sum, in
//     order of candidates, reaches top-p of the total (1 or more: all). min-p
//     keeps those whose weight is at least min-p.
//  7. The token is the first, in order of ids, at which the running sum of kept
//     weights exceeds Uniform x their total; the last one with a weight should
//     that product round up to the total.
//
// A log probability is x - highest - log(sum of exp(x - highest)) over the raw
// logits in float64, the sum in order of ids, rounded to float32 at the end.
func (s *step) sample(op gpu.Sample) error {
	for o, t := range s.outputs {
		tok := s.tokens[t]
		seq := &s.sequences[tok.seq]
		res, logits := seq.Result, s.row(op.Logits, o)
		if seq.KeepLogits {
			res.Logits = append(res.Logits, slices.Clone(logits))
		}
		if i := tok.position - seq.Score.From; i >= 0 && i < len(seq.Score.Targets) {
			res.Scores = append(res.Scores, score(logits, seq.Score.Targets[i], seq.Score.Top))
		}
		if tok.position != seq.Start+len(seq.Tokens)-1 || !seq.Draws() {
			continue
		}
		id, err := pick(logits, seq.Sample)
		switch {
		case err == gpu.ErrNothingToSample:
			res.Err = err
			continue
		case err != nil:
			return fmt.Errorf("row %d: %w", seq.Row, err)
		}
		res.Tokens = append(res.Tokens, id)
		if n := seq.Sample.TopLogprobs; n >= 0 {
			res.Logprobs = append(res.Logprobs, score(logits, id, n))
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
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(x[b], x[a]) })
	return ids
}

// score is the log probability of a token and of the most likely ones.
func score(logits []float32, token int32, top int) gpu.Logprobs {
	ids := order(logits)
	highest := float64(logits[ids[0]])
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x) - highest)
	}
	logprob := func(id int32) float32 { return float32(float64(logits[id]) - highest - math.Log(sum)) }
	out := gpu.Logprobs{Chosen: gpu.TokenLogprob{Token: token, Logprob: logprob(token)}}
	for _, id := range ids[:min(top, len(ids))] {
		out.Top = append(out.Top, gpu.TokenLogprob{Token: id, Logprob: logprob(id)})
	}
	return out
}

// pick samples the next token.
func pick(logits []float32, spec *rows.Sample) (int32, error) {
	x := slices.Clone(logits)
	adjust(x, spec)
	for id, v := range x {
		if v != v {
			return 0, fmt.Errorf("the logit of token %d is not a number, because a weight, K or V is too large; use weight-dtype f32 and kv-cache-dtype f32, or download the model again", id)
		}
	}
	ids := order(x)
	highest := x[ids[0]]
	if math.IsInf(float64(highest), -1) {
		return 0, gpu.ErrNothingToSample
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

func adjust(x []float32, spec *rows.Sample) {
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
	for id := range x {
		if spec.Allowed != nil && spec.Allowed[id/32]>>(id%32)&1 == 0 {
			x[id] = float32(math.Inf(-1))
		}
	}
}
