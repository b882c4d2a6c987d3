package cpu

import (
	"fmt"
	"math"
	"slices"

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
	if !out.sample || !seq.Draws() {
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

// candidates is one worker's scratch for sampling, grown on use.
type candidates struct {
	x      []float32 // adjusted logits
	weight []float64 // by id, of the considered ones
	sums   []float64 // of weights, by run of ids
	ids    []int32
	byID   []int32
	peaks  []float32 // by run of ids
}

func (c *candidates) bytes() int64 {
	return size(c.x, c.peaks) + size(c.ids, c.byID) + size(c.weight, c.sums)
}

// sample samples the next token as gpu/ref defines it. Weights of the whole
// vocabulary, and their sum in order of ids, are computed only if a faster sum
// is not exact enough (see sumError). Only what top-k and top-p may keep is sorted.
func (c *candidates) sample(level simd.Level, logits []float32, spec *rows.Sample) (int32, error) {
	d := sampler{candidates: c, level: level, x: c.adjusted(logits, spec), temperature: spec.Temperature}
	highest, nan := scan.Max(level, d.x)
	switch d.highest = highest; {
	case nan:
		id := slices.IndexFunc(d.x, func(v float32) bool { return v != v })
		return 0, fmt.Errorf("the logit of token %d is not a number, because a weight, K or V is too large; use weight-dtype f32 and kv-cache-dtype f32, or download the model again", id)
	case math.IsInf(float64(highest), -1):
		return 0, gpu.ErrNothingToSample
	case spec.Temperature < 1e-6:
		return int32(scan.Index(level, d.x, highest)), nil
	}
	d.fast = level != simd.Portable && !math.IsInf(float64(highest), 1)
	c.weight = slices.Grow(c.weight[:0], len(d.x))[:len(d.x)]
	c.ids = slices.Grow(c.ids[:0], len(d.x))[:len(d.x)]
	u := gpu.Uniform(spec.Seed, spec.Choice, spec.Position)
	var ids []int32
	switch k := int(spec.TopK); {
	case k > 0 && k < len(d.x):
		ids = d.weighed(c.first(level, d.x, k))
		if spec.TopP < 1 {
			c.byID = append(c.byID[:0], ids...)
			slices.Sort(c.byID)
			ids = ids[:c.reach(ids, float64(spec.TopP)*c.total(c.byID))]
		}
	case spec.TopP < 1:
		ids = d.nucleus(float64(spec.TopP))
	case spec.MinP > 0:
		// Those whose weight may reach min-p, and a few more.
		ids = d.downTo(-math.Log(float64(spec.MinP)) + 1e-3)
	default:
		if id, sure := d.ofAll(u); sure {
			return id, nil
		}
		ids = d.downTo(math.Inf(1))
	}
	if spec.MinP > 0 {
		ids = slices.DeleteFunc(ids, func(id int32) bool { return c.weight[id] < float64(spec.MinP) })
	}
	slices.Sort(ids)
	return c.pick(ids, u), nil
}

// sampler samples one token at a temperature of 1e-6 or more.
type sampler struct {
	*candidates
	level                simd.Level
	x                    []float32
	highest, temperature float32
	fast                 bool // the level has its own sums, and they are finite
}

// weigh is the weight of a logit, relative to the highest.
func (d *sampler) weigh(x float32) float64 {
	if x == d.highest {
		return 1 // also if both are infinite
	}
	return math.Exp((float64(x) - float64(d.highest)) / float64(d.temperature))
}

// weighed sets the weights of ids.
func (d *sampler) weighed(ids []int32) []int32 {
	for _, id := range ids {
		d.weight[id] = d.weigh(d.x[id])
	}
	return ids
}

// downTo lists the ids with a weight of at least e^-depth, in order, and sets weights.
func (d *sampler) downTo(depth float64) []int32 {
	bound := float32(float64(d.highest) - depth*float64(d.temperature))
	if bound != bound || math.IsInf(float64(d.highest), 0) {
		bound = float32(math.Inf(-1))
	}
	return d.weighed(d.ids[:scan.AtLeast(d.level, d.x, bound, d.ids)])
}
