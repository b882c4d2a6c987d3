package bench

import (
	"math"
	"slices"
	"time"
)

// Summary sums up repetitions.
type Summary struct {
	Mean   float64 `json:"mean"`
	Std    float64 `json:"std"` // a sample's estimate (n - 1), as llama-bench gives it; 0 of one
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise sums values up; none gives zeros. It leaves them as they are.
func Summarise(values []float64) Summary {
	n := len(values)
	if n == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	s := Summary{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
	for _, v := range values {
		s.Mean += v / float64(n)
	}
	if n > 1 {
		squares := 0.0
		for _, v := range values {
			squares += (v - s.Mean) * (v - s.Mean)
		}
		s.Std = math.Sqrt(squares / float64(n-1))
	}
	return s
}

// Delay is how late an idle actor was, once.
type Delay struct {
	Message time.Duration // from sending a message to its handling
	Timer   time.Duration // from when a timer was due to the handling of what it sent
}

// Delays sums up many of them, in milliseconds.
type Delays struct {
	Count   int     `json:"count"`
	Message Latency `json:"message_ms"`
	Timer   Latency `json:"timer_ms"`
}

// Latency has percentiles by the nearest rank.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// sumUp is nil where there is nothing to sum up.
func sumUp(all []Delay) *Delays {
	if len(all) == 0 {
		return nil
	}
	pick := func(of func(Delay) time.Duration) Latency {
		list := make([]time.Duration, len(all))
		for i, d := range all {
			list[i] = of(d)
		}
		slices.Sort(list)
		rank := func(p int) float64 { return float64(list[(len(list)*p+99)/100-1]) / 1e6 }
		return Latency{rank(50), rank(99), rank(100)}
	}
	return &Delays{
		Count:   len(all),
		Message: pick(func(d Delay) time.Duration { return d.Message }),
		Timer:   pick(func(d Delay) time.Duration { return d.Timer }),
	}
}
