package measure

import (
	"math"
	"math/bits"
	"time"
)

// Histogram collects any number of durations in constant memory, in buckets of
// logarithmic width: 128 for each power of two, so that a percentile is within
// 0.4 % of the exact one. Results are the same on every platform.
type Histogram struct {
	count        int
	sum, squares float64 // of seconds
	least, most  time.Duration
	buckets      []int
}

const subBuckets = 128

// bucket numbers the buckets: exact below 128 ns, then 128 for each power of two.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 8
	return shift*subBuckets + int(v>>shift)
}

func middle(b int) time.Duration {
	if b < 2*subBuckets {
		return time.Duration(b)
	}
	shift := b/subBuckets - 1
	low := uint64(b%subBuckets+subBuckets) << shift
	return time.Duration(low + 1<<shift/2)
}

// Add counts one duration; a negative one as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	if h.count == 0 {
		h.least = d
	}
	h.count++
	h.least, h.most = min(h.least, d), max(h.most, d)
	seconds := d.Seconds()
	h.sum += seconds
	h.squares += float64(seconds * seconds) // not fused with the addition
	b := bucket(d)
	if b >= len(h.buckets) {
		h.buckets = append(h.buckets, make([]int, b+1-len(h.buckets))...)
	}
	h.buckets[b]++
}

func (h *Histogram) Count() int { return h.count }

// Quantile is the middle of the bucket of the q-quantile, 0 without durations.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank, seen := int(q*float64(h.count)), 0
	for b, n := range h.buckets {
		if seen += n; seen > rank || seen == h.count && n > 0 {
			return min(max(middle(b), h.least), h.most)
		}
	}
	return 0
}

// Latency is the summary in seconds, rounded to microseconds.
func (h *Histogram) Latency() Latency {
	if h.count == 0 {
		return Latency{}
	}
	n := float64(h.count)
	mean := h.sum / n
	round := func(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
	at := func(d time.Duration) float64 { return round(d.Seconds()) }
	return Latency{
		Count: h.count, Mean: round(mean), Std: round(math.Sqrt(max(h.squares/n-float64(mean*mean), 0))), Min: at(h.least),
		P50: at(h.Quantile(.5)), P90: at(h.Quantile(.9)), P99: at(h.Quantile(.99)), Max: at(h.most),
	}
}
