package load

import (
	"math"
	"slices"
	"time"
)

// Latency sums up durations, in milliseconds.
type Latency struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Std   float64 `json:"std"` // of the whole set, not a sample's estimate
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// newLatency sorts all.
func newLatency(all []time.Duration) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	sum := 0.0
	for _, d := range all {
		sum += float64(d)
	}
	mean := sum / float64(len(all))
	squares := 0.0
	for _, d := range all {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	return Latency{
		Count: len(all), Mean: milli(mean), Std: milli(math.Sqrt(squares / float64(len(all)))), Min: milli(float64(all[0])),
		P50: milli(percentile(all, 50)), P90: milli(percentile(all, 90)), P99: milli(percentile(all, 99)), Max: milli(float64(all[len(all)-1])),
	}
}

func milli(nanoseconds float64) float64 { return nanoseconds / 1e6 }

// percentile interpolates linearly between the two ranks around p/100·(n − 1)
// of a sorted, non-empty list: method 7 of Hyndman and Fan (Sample Quantiles in
// Statistical Packages, 1996), NumPy's default.
func percentile(sorted []time.Duration, p float64) float64 {
	rank := p / 100 * float64(len(sorted)-1)
	below := int(rank)
	if below >= len(sorted)-1 {
		return float64(sorted[len(sorted)-1])
	}
	low, high := float64(sorted[below]), float64(sorted[below+1])
	return low + (high-low)*(rank-float64(below))
}
