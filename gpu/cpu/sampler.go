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

// nucleus is what top-p keeps: the shortest run of first candidates whose weight
// reaches topP of the total, in any order. It considers weights down to e^-4 of the
// highest, and then, as needed, down to e^-8, e^-16, ...
func (d *sampler) nucleus(topP float64) []int32 {
	if d.fast {
		_, total := d.runs()
		low, high := topP*total*(1-sumError), topP*total*(1+sumError)
		for depth := 4.0; depth < 1000; depth *= 2 {
			ids := d.downTo(depth)
			if d.total(ids) < high {
				continue // not enough in any order of summing
			}
			if ids, sure := d.until(ids, depth, low, high); sure {
				return ids
			}
			break
		}
	}
	ids := d.downTo(math.Inf(1))
	goal := topP * d.total(ids)
	sortCandidates(d.x, ids)
	return ids[:d.reach(ids, goal)]
}

// ranks is how many classes until sorts candidates into.
const ranks = 256

// until reduces ids, all candidates down to a depth, to the shortest run of first ones
// whose weight reaches a goal between low and high. Only the class in which that
// happens is sorted. It is not sure if different candidates reach low and high.
func (d *sampler) until(ids []int32, depth, low, high float64) (kept []int32, sure bool) {
	var sums [ranks]float64
	scale := ranks / (depth * float64(d.temperature))
	rank := func(id int32) int {
		return max(0, min(int((float64(d.highest)-float64(d.x[id]))*scale), ranks-1))
	}
	for _, id := range ids {
		sums[rank(id)] += d.weight[id]
	}
	r, sum := 0, 0.0
	for r < ranks-1 && sum+sums[r] < low {
		sum += sums[r]
		r++
	}
	d.byID = d.byID[:0]
	for _, id := range ids {
		if rank(id) == r {
			d.byID = append(d.byID, id)
		}
	}
	sortCandidates(d.x, d.byID)
	for _, last := range d.byID {
		if sum += d.weight[last]; sum >= low {
			kept = slices.DeleteFunc(ids, func(id int32) bool { return before(d.x, last, id) })
			return kept, sum >= high
		}
	}
	return nil, false
}

// sumRun is the ids whose weights are summed in one call.
const sumRun = 1024

// runs are the sums of weights by run of ids, each accurate to sumError, and their total.
func (d *sampler) runs() (sums []float64, total float64) {
	d.sums = d.sums[:0]
	for x := d.x; len(x) > 0; {
		n := min(len(x), sumRun)
		sum := scan.SumExp(d.level, x[:n], float64(d.highest), 1/float64(d.temperature))
		d.sums, total = append(d.sums, sum), total+sum
		x = x[n:]
	}
	return d.sums, total
}

// ofAll samples from the whole vocabulary. It is not sure if the goal is so near
// to the border between two tokens that the order of summing decides.
func (d *sampler) ofAll(u float64) (id int32, sure bool) {
	if !d.fast {
		return 0, false
	}
	runs, total := d.runs()
	goal, doubt := u*total, 2*sumError*total
	run, sum := 0, 0.0
	for run < len(runs)-1 && sum+runs[run] <= goal {
		sum += runs[run]
		run++
	}
	for i, x := range d.x[run*sumRun : min(len(d.x), (run+1)*sumRun)] {
		before := sum
		if sum += d.weigh(x); sum > goal {
			return int32(run*sumRun + i), before < goal-doubt && sum > goal+doubt
		}
	}
	return 0, false
}

// total is the sum of weights, in the order given.
func (c *candidates) total(ids []int32) float64 {
	var sum float64
	for _, id := range ids {
		sum += c.weight[id]
	}
	return sum
}

// reach is the length of the shortest run of first candidates, at least one, whose
// weight reaches goal; all of them if none does.
func (c *candidates) reach(ids []int32, goal float64) int {
	var sum float64
	for i, id := range ids {
		if sum += c.weight[id]; sum >= goal {
			return i + 1
		}
	}
	return len(ids)
}

// pick samples from ids, which ascend: the first at which the running sum of
// weights exceeds u times their total.
func (c *candidates) pick(ids []int32, u float64) int32 {
	goal := u * c.total(ids)
	var sum float64
	var last int32
	for _, id := range ids {
		if sum += c.weight[id]; sum > goal {
			return id
		}
		if c.weight[id] > 0 {
			last = id
		}
	}
	return last // u x total was rounded up to the total
}
