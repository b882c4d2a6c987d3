package clustertest

import (
	"fmt"
	"slices"
	"time"
)

// Pauses are times, for a summary.
type Pauses []time.Duration

// At is the quantile q in [0, 1]; 0 without any.
func (p Pauses) At(q float64) time.Duration {
	if len(p) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (p Pauses) String() string {
	return fmt.Sprintf("%d: p50 %v, p90 %v, p99 %v, max %v", len(p), round(p.At(0.5)), round(p.At(0.9)), round(p.At(0.99)), round(p.At(1)))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
