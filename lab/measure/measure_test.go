package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const msec = time.Millisecond

// slowPercentile follows the definition: value i of the sorted list is the percentile
// 100·i/(n−1), and between two values it is a straight line.
func slowPercentile(all []time.Duration, p float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	for i := 1; i < len(sorted); i++ {
		from, to := 100*float64(i-1)/float64(len(sorted)-1), 100*float64(i)/float64(len(sorted)-1)
		if p <= to {
			share := (p - from) / (to - from)
			return float64(sorted[i-1])*(1-share) + float64(sorted[i])*share
		}
	}
	return float64(sorted[len(sorted)-1])
}

func TestPercentilesAreThoseOfTheTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Map(rapid.Int64Range(0, 1e12), func(n int64) time.Duration { return time.Duration(n) }), 1, 60).Draw(t, "all")
		sum := 0.0
		for _, d := range all {
			sum += float64(d)
		}
		l := Summarise(slices.Clone(all), msec)
		for p, got := range map[float64]float64{0: l.Min, 50: l.P50, 90: l.P90, 99: l.P99, 100: l.Max} {
			if want := slowPercentile(all, p) / 1e6; math.Abs(got-want) > 1e-6*(1+want) {
				t.Fatalf("p%v of %v is %v, want %v", p, all, got, want)
			}
		}
		if want := sum / float64(len(all)) / 1e6; l.Count != len(all) || math.Abs(l.Mean-want) > 1e-6*(1+want) || l.Std < 0 || l.P50 > l.P90 || l.P90 > l.P99 {
			t.Fatalf("%+v of %v", l, all)
		}
	})
}

func TestLatency(t *testing.T) {
	if l := Summarise(nil, msec); l != (Latency{}) {
		t.Errorf("of nothing: %+v", l)
	}
	// numpy: mean 4, std 2.236…, percentiles [4, 6.4, 6.94] of 1, 3, 5, 7 with 50, 90, 99.
	got := Summarise([]time.Duration{7 * msec, 1 * msec, 5 * msec, 3 * msec}, msec)
	want := Latency{Count: 4, Mean: 4, Std: math.Sqrt(5), Min: 1, P50: 4, P90: 6.4, P99: 6.94, Max: 7}
	if got.Count != 4 || math.Abs(got.Std-want.Std) > 1e-9 || math.Abs(got.P90-6.4) > 1e-9 || math.Abs(got.P99-6.94) > 1e-9 || got.P50 != 4 || got.Mean != 4 || got.Min != 1 || got.Max != 7 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBucketsAreOrderedAndNarrow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 1<<62).Draw(r, "d"))
		m := middle(bucket(d))
		if diff := (m - d).Abs(); float64(diff) > 0.004*float64(d) {
			r.Fatalf("%d falls into a bucket around %d", d, m)
		}
		if bucket(m) != bucket(d) {
			r.Fatalf("the middle %d of the bucket of %d is in another one", m, d)
		}
		if bucket(d+1) < bucket(d) {
			r.Fatalf("bucket of %d comes before that of %d", d+1, d)
		}
	})
}

// The histogram returns the same as sorting, rounded to microseconds.
func TestHistogramAgainstSorting(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 200).Draw(r, "all")
		var h Histogram
		var durations []time.Duration
		for _, d := range all {
			h.Add(time.Duration(d))
			durations = append(durations, time.Duration(d))
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			want := float64(all[min(int(q*float64(len(all))), len(all)-1)])
			if got := float64(h.Quantile(q)); got < 0.995*want-1 || got > 1.005*want+1 {
				r.Fatalf("quantile %v is %v, want %v of %v", q, got, want, all)
			}
		}
		got, want := h.Latency(), Summarise(durations, time.Second)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6+1e-6*b }
		if got.Count != h.Count() || got.Count != want.Count || !near(got.Mean, want.Mean) || !near(got.Min, want.Min) || !near(got.Max, want.Max) || math.Abs(got.Std-want.Std) > 1e-3+1e-6*want.Mean {
			r.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// Millions of requests that wait for days are more than a Duration holds.
func TestHistogramOfCenturies(t *testing.T) {
	var h Histogram
	const day = 24 * time.Hour
	for range 1_000_000 {
		h.Add(day)
	}
	if l := h.Latency(); l.Mean != day.Seconds() || l.Std != 0 {
		t.Errorf("a million days are %+v", l)
	}
}

func TestNoLatencies(t *testing.T) {
	var h Histogram
	if h.Latency() != (Latency{}) || h.Quantile(0.5) != 0 {
		t.Error("nothing has a latency")
	}
}
