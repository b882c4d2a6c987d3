package cpu

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// candidates is one worker's scratch for draws, grown on use.
type candidates struct {
	x      []float32 // adjusted logits
	weight []float64 // by id
	ids    []int32
	byID   []int32
}

func (c *candidates) bytes() int64 {
	return 4*int64(cap(c.x)+cap(c.ids)+cap(c.byID)) + 8*int64(cap(c.weight))
}

// draw picks the next token as gpu/ref defines it, but sorts only as much of
// the vocabulary as top-k and top-p keep.
func (c *candidates) draw(logits []float32, spec *gpu.SampleSpec) (int32, error) {
	x := c.adjusted(logits, spec)
	best := 0
	for id, v := range x {
		if v > x[best] {
			best = id
		} else if v != v {
			return 0, fmt.Errorf("the logit of token %d is not a number; the weights or the KV pool overflow", id)
		}
	}
	switch highest := x[best]; {
	case math.IsInf(float64(highest), -1):
		return 0, errors.New("nothing is left to draw: mask and bias exclude every token")
	case spec.Temperature < 1e-6:
		return int32(best), nil
	default:
		u := gpu.Uniform(spec.Seed, spec.Choice, spec.Position)
		return c.pick(c.kept(x, highest, spec), u), nil
	}
}

// weigh is the weight of a logit, relative to the highest.
func weigh(x, highest, temperature float32) float64 {
	if x == highest {
		return 1 // also where both are infinite
	}
	return math.Exp((float64(x) - float64(highest)) / float64(temperature))
}

// kept lists what may be drawn, in order of ids, and sets its weights.
func (c *candidates) kept(x []float32, highest float32, spec *gpu.SampleSpec) []int32 {
	c.weight = slices.Grow(c.weight[:0], len(x))[:len(x)]
	c.ids = slices.Grow(c.ids[:0], len(x))
	var ids []int32
	if k := int(spec.TopK); k > 0 && k < len(x) {
		ids = c.first(x, k)
		for _, id := range ids {
			c.weight[id] = weigh(x[id], highest, spec.Temperature)
		}
		if spec.TopP < 1 {
			c.byID = append(c.byID[:0], ids...)
			slices.Sort(c.byID)
			n, _ := c.reach(ids, float64(spec.TopP)*c.total(c.byID))
			ids = ids[:n]
		}
	} else {
		var total float64
		for id, v := range x {
			c.weight[id] = weigh(v, highest, spec.Temperature)
			total += c.weight[id]
		}
		ids = c.ids[:len(x)]
		if spec.TopP < 1 {
			ids = c.likeliest(x, highest, spec.Temperature, float64(spec.TopP)*total)
		} else {
			for id := range ids {
				ids[id] = int32(id)
			}
		}
	}
	if spec.MinP > 0 {
		n := 0
		for _, id := range ids {
			if c.weight[id] >= float64(spec.MinP) {
				ids[n] = id
				n++
			}
		}
		ids = ids[:n]
	}
	slices.Sort(ids)
	return ids
}

// total is the sum of weights, in the order given.
func (c *candidates) total(ids []int32) float64 {
	var sum float64
	for _, id := range ids {
		sum += c.weight[id]
	}
	return sum
}

// reach is the length of the shortest run of first candidates, at least one,
// whose weight reaches goal; false if all together do not.
func (c *candidates) reach(ids []int32, goal float64) (int, bool) {
	var sum float64
	for i, id := range ids {
		if sum += c.weight[id]; sum >= goal {
			return i + 1, true
		}
	}
	return len(ids), false
}

// likeliest is the shortest run of first candidates whose weight reaches goal.
// It sorts those within some distance of the highest, farther as needed: with
// weights down to e^-4, e^-8, ... of the highest.
func (c *candidates) likeliest(x []float32, highest, temperature float32, goal float64) []int32 {
	for depth := 4.0; ; depth *= 2 {
		bound := float32(float64(highest) - depth*float64(temperature))
		all := depth > 1000 || math.IsInf(float64(bound), 0) || bound != bound
		ids := c.ids[:0]
		var sum float64
		for id, v := range x {
			if all || v >= bound {
				ids = append(ids, int32(id))
				sum += c.weight[id]
			}
		}
		if !all && sum < goal {
			continue // not enough however they are sorted, but for rounding
		}
		sortCandidates(x, ids)
		if n, reached := c.reach(ids, goal); reached || all {
			return ids[:n]
		}
	}
}

// pick draws from ids, which ascend: the first at which the running sum of
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

// before is the order of candidates: higher first, ties lower id first.
func before(x []float32, a, b int32) bool {
	return x[a] > x[b] || x[a] == x[b] && a < b
}

func sortCandidates(x []float32, ids []int32) {
	slices.SortFunc(ids, func(a, b int32) int {
		switch {
		case before(x, a, b):
			return -1
		case before(x, b, a):
			return 1
		}
		return 0
	})
}

// first is the first k candidates in order: O(n log k), by a heap whose root
// is the last of the best k so far. The result is good until the next call.
func (c *candidates) first(x []float32, k int) []int32 {
	heap := slices.Grow(c.ids[:0], k)[:k]
	c.ids = heap
	for i := range heap {
		heap[i] = int32(i)
	}
	for i := k/2 - 1; i >= 0; i-- {
		sink(x, heap, i)
	}
	for id := k; id < len(x); id++ {
		if x[id] > x[heap[0]] {
			heap[0] = int32(id)
			sink(x, heap, 0)
		}
	}
	sortCandidates(x, heap)
	return heap
}

// sink restores the heap below i: no parent stands before its children.
func sink(x []float32, heap []int32, i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if before(x, heap[last], heap[child]) {
				last = child
			}
		}
		if last == i {
			return
		}
		heap[i], heap[last] = heap[last], heap[i]
		i = last
	}
}
