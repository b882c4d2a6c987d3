package telemetry

import (
	"sort"

	dto "github.com/prometheus/client_model/go"
)

// Histogram is a distribution of samples, as /server_info shows it.
type Histogram struct {
	Count uint64  `json:"count"`
	Sum   float64 `json:"sum"`
	// Bounds are the buckets' upper bounds, ascending. Samples above the last one are
	// only in Count. Counts has the number of samples up to each bound.
	Bounds []float64 `json:"bounds"`
	Counts []uint64  `json:"counts"`
}

func (m *Meter) Histograms() map[string]Histogram {
	all := map[string]Histogram{}
	for name, x := range m.metrics {
		if x.kind != histogram {
			continue
		}
		var out dto.Metric
		_ = x.histogram.Write(&out) // never fails for a histogram
		h := Histogram{Count: out.Histogram.GetSampleCount(), Sum: out.Histogram.GetSampleSum()}
		for _, b := range out.Histogram.GetBucket() {
			h.Bounds = append(h.Bounds, b.GetUpperBound())
			h.Counts = append(h.Counts, b.GetCumulativeCount())
		}
		all[string(name)] = h
	}
	return all
}

// Since is the distribution of the samples after an earlier reading. It is h itself if
// that is of another server process: its counts are larger, or the buckets differ.
func (h Histogram) Since(old Histogram) Histogram {
	if old.Count > h.Count || len(old.Counts) != len(h.Counts) {
		return h
	}
	d := Histogram{Count: h.Count - old.Count, Sum: h.Sum - old.Sum, Bounds: h.Bounds, Counts: make([]uint64, len(h.Counts))}
	for i, n := range h.Counts {
		if old.Counts[i] > n {
			return h
		}
		d.Counts[i] = n - old.Counts[i]
	}
	return d
}

// Quantile estimates a quantile, 0 to 1, like Prometheus' histogram_quantile: linear in
// its bucket, and the last bound for samples above it. Not ok if there are no samples.
func (h Histogram) Quantile(q float64) (v float64, ok bool) {
	if h.Count == 0 || len(h.Bounds) == 0 {
		return 0, false
	}
	rank := q * float64(h.Count)
	i := sort.Search(len(h.Counts), func(i int) bool { return float64(h.Counts[i]) >= rank && h.Counts[i] > 0 })
	if i == len(h.Counts) {
		return h.Bounds[i-1], true
	}
	low, below := 0.0, uint64(0)
	if i > 0 {
		low, below = h.Bounds[i-1], h.Counts[i-1]
	}
	return low + (h.Bounds[i]-low)*(rank-float64(below))/float64(h.Counts[i]-below), true
}
