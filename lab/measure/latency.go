// Package measure summarises latencies and reads the processor time of this
// process, for all measurements of the laboratory.
package measure

import (
	"math"
	"slices"
	"time"
)

// Latency is a summary of durations, in the unit of its field's JSON name.
type Latency struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Std   float64 `json:"std"` // of all durations, not estimated from a sample
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Summarise sorts the durations; without any it returns zeros.
func Summarise(all []time.Duration, unit time.Duration) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	sum, squares := 0.0, 0.0
	for _, d := range all {
		sum += float64(d)
	}
	mean := sum / float64(len(all))
	for _, d := range all {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	in := func(nanoseconds float64) float64 { return nanoseconds / float64(unit) }
	return Latency{
		Count: len(all), Mean: in(mean), Std: in(math.Sqrt(squares / float64(len(all)))), Min: in(Percentile(all, 0)),
		P50: in(Percentile(all, 50)), P90: in(Percentile(all, 90)), P99: in(Percentile(all, 99)), Max: in(Percentile(all, 100)),
	}
}

// Ratio is 0 where there is none.
func Ratio(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// Percentile interpolates linearly between the two ranks around p/100·(n − 1)
// of a sorted list that is not empty: method 7 of Hyndman and Fan (Sample
// Quantiles in Statistical Packages, 1996), NumPy's default.
func Percentile[T ~int64 | ~float64](sorted []T, p float64) float64 {
	rank := p / 100 * float64(len(sorted)-1)
	below := int(rank)
	if below >= len(sorted)-1 {
		return float64(sorted[len(sorted)-1])
	}
	low, high := float64(sorted[below]), float64(sorted[below+1])
	return low + (high-low)*(rank-float64(below))
}
