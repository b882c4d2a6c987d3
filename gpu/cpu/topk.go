package cpu

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/scan"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// before is the order of candidates: higher first, ties lower id first.
func before(x []float32, a, b int32) bool {
	return x[a] > x[b] || x[a] == x[b] && a < b
}

func sortCandidates(x []float32, ids []int32) {
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(x[b], x[a]), cmp.Compare(a, b)) })
}

// peakRun is the number of ids whose largest logit bounds the first candidates. This
// pays if there are peakRuns such runs for each candidate.
const (
	peakRun  = 128
	peakRuns = 4
)

// first returns the first k candidates in order, valid until the next call.
func (c *candidates) first(level simd.Level, x []float32, k int) []int32 {
	c.ids = slices.Grow(c.ids[:0], len(x))[:len(x)]
	runs := len(x) / peakRun
	if k*peakRuns > runs {
		return leading(x, c.ids, k)
	}
	// The k-th largest of the peaks of runs is reached by k candidates or more.
	c.peaks = c.peaks[:0]
	for i := range runs {
		peak, _ := scan.Max(level, x[i*peakRun:(i+1)*peakRun])
		c.peaks = append(c.peaks, peak)
	}
	last := leading(c.peaks, c.ids, k)[k-1]
	ids := c.ids[:scan.AtLeast(level, x, c.peaks[last], c.ids)]
	sortCandidates(x, ids)
	return ids[:k]
}

// leading returns the first k candidates in order, in ids: O(n log k), by a heap
// whose root is the last of the best k so far.
func leading(x []float32, ids []int32, k int) []int32 {
	heap := ids[:k]
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

// sink restores the heap below i: no parent comes before its children.
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
