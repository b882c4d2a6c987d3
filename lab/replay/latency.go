package replay

import (
	"math/bits"
	"time"
)

// latencies collects durations in constant memory: exact count, sum and
// greatest, and a histogram of logarithmic buckets for quantiles. 128 buckets
// per power of two put a quantile within 0.4 % of the exact one.
type latencies struct {
	count   int
	high    uint64 // of the sum: 64 bits of ns are 584 years, of waiting too
	low     uint64
	most    time.Duration
	buckets []int
}

const subBuckets = 128

// bucket numbers the buckets from 0 by ascending durations: exact below 128
// ns, then 128 for each power of two.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 8
	return shift*subBuckets + int(v>>shift)
}

// middle is the middle of a bucket.
func middle(b int) time.Duration {
	if b < 2*subBuckets {
		return time.Duration(b)
	}
	shift := b/subBuckets - 1
	low := uint64(b%subBuckets+subBuckets) << shift
	return time.Duration(low + 1<<shift/2)
}

func (l *latencies) add(d time.Duration) {
	l.count++
	var carry uint64
	l.low, carry = bits.Add64(l.low, uint64(max(d, 0)), 0)
	l.high += carry
	l.most = max(l.most, d)
	b := bucket(d)
	if b >= len(l.buckets) {
		l.buckets = append(l.buckets, make([]int, b+1-len(l.buckets))...)
	}
	l.buckets[b]++
}

// quantile is the least bucket that at least the share q does not exceed.
func (l *latencies) quantile(q float64) time.Duration {
	rank, seen := int(q*float64(l.count)), 0
	for b, n := range l.buckets {
		if seen += n; seen > rank || seen == l.count && n > 0 {
			return min(middle(b), l.most)
		}
	}
	return 0
}

// mean is rounded down. There must be a duration.
func (l *latencies) mean() time.Duration {
	mean, _ := bits.Div64(l.high, l.low, uint64(l.count))
	return time.Duration(mean)
}

// Latency sums durations up, in seconds.
type Latency struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func (l *latencies) summary() Latency {
	if l.count == 0 {
		return Latency{}
	}
	return Latency{
		Count: l.count, Mean: seconds(l.mean()), P50: seconds(l.quantile(0.5)),
		P90: seconds(l.quantile(0.9)), P99: seconds(l.quantile(0.99)), Max: seconds(l.most),
	}
}

// seconds rounds to microseconds, the most that a cost model can claim.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)/time.Microsecond) / 1e6
}
