package bench

import (
	"math"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
)

type Summary struct {
	Mean   float64 `json:"mean"`
	Std    float64 `json:"std"` // a sample's estimate (n - 1), as in llama-bench; 0 of one
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise summarises values, zeros for none. It does not sort the caller's slice.
func Summarise(values []float64) Summary {
	n := len(values)
	if n == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	s := Summary{Median: measure.Percentile(sorted, 50), Min: sorted[0], Max: sorted[n-1]}
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

// Delay is one measurement of how late an idle actor was.
type Delay struct {
	Message time.Duration // from sending a message to its handling
	Timer   time.Duration // from when a timer was due to the handling of what it sent
}

type Delays struct {
	Count   int             `json:"count"`
	Message measure.Latency `json:"message_ms"`
	Timer   measure.Latency `json:"timer_ms"`
}

// sumUp is nil without delays.
func sumUp(all []Delay) *Delays {
	if len(all) == 0 {
		return nil
	}
	var message, timer []time.Duration
	for _, d := range all {
		message, timer = append(message, d.Message), append(timer, d.Timer)
	}
	return &Delays{len(all), measure.Summarise(message, time.Millisecond), measure.Summarise(timer, time.Millisecond)}
}
