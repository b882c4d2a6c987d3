package cpu

import (
	"math"
	"slices"
)

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
