package load

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// slowPercentile walks over the sorted list in hundredths of a rank, as the
// definition draws it: value i stands at i/(n−1) of the way.
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
		l := newLatency(slices.Clone(all))
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
	if l := newLatency(nil); l != (Latency{}) {
		t.Errorf("of nothing: %+v", l)
	}
	// numpy: mean 4, std 2.236…, percentiles [4, 6.4, 6.94] of 1, 3, 5, 7 with 50, 90, 99.
	got := newLatency([]time.Duration{7 * msec, 1 * msec, 5 * msec, 3 * msec})
	want := Latency{Count: 4, Mean: 4, Std: math.Sqrt(5), Min: 1, P50: 4, P90: 6.4, P99: 6.94, Max: 7}
	if got.Count != 4 || math.Abs(got.Std-want.Std) > 1e-9 || math.Abs(got.P90-6.4) > 1e-9 || math.Abs(got.P99-6.94) > 1e-9 || got.P50 != 4 || got.Mean != 4 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestObjectives(t *testing.T) {
	o, err := ParseObjectives([]string{"ttft:200ms tpot:50", "e2el:10s"})
	if want := (Objectives{200 * msec, 50 * msec, 10 * time.Second}); err != nil || o != want || o.String() != "ttft:200ms tpot:50ms e2e:10s" {
		t.Errorf("%+v, %v, %s", o, err, o)
	}
	if o, err := ParseObjectives(nil); err != nil || o.Any() {
		t.Errorf("none: %+v, %v", o, err)
	}
	for text, want := range map[string]string{"ttft": "no objective", "ttft:fast": "no objective", "ttft:-1": "no objective", "itl:5ms": "not known", "ttft:1 ttft:2": "twice"} {
		if _, err := ParseObjectives([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", text, err)
		}
	}
	answer := func(ttft, e2e time.Duration, tokens int, streamed bool) *Record {
		return &Record{Sent: 5, First: 5 + ttft, Last: 5 + e2e, Chunks: tokens, Output: tokens, Streamed: streamed}
	}
	for _, c := range []struct {
		limits string
		r      *Record
		met    bool
	}{
		{"ttft:100", answer(100*msec, 500*msec, 5, true), true},
		{"ttft:100", answer(100*msec+1, 500*msec, 5, true), false},
		{"tpot:100", answer(100*msec, 500*msec, 5, true), true},
		{"tpot:99", answer(100*msec, 500*msec, 5, true), false},
		{"tpot:1", answer(100*msec, 100*msec, 1, true), true}, // one token has no TPOT
		{"e2e:500", answer(100*msec, 500*msec, 5, true), true},
		{"e2e:499", answer(100*msec, 500*msec, 5, true), false},
		{"e2e:500", answer(0, 500*msec, 5, false), true},
		{"ttft:500", answer(0, 100*msec, 5, false), false}, // nobody saw the first token
		{"ttft:100,tpot:100,e2e:499", answer(100*msec, 500*msec, 5, true), false},
	} {
		o, err := ParseObjectives([]string{c.limits})
		if err != nil || o.Met(c.r) != c.met {
			t.Errorf("%s: met is %v, %v: %+v", c.limits, !c.met, err, c.r)
		}
	}
}
