package replay

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/lab/plot"
)

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

func TestLatenciesAgainstSorting(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 200).Draw(r, "all")
		var l latencies
		sum := int64(0)
		for _, d := range all {
			l.add(time.Duration(d))
			sum += d
		}
		slices.Sort(all)
		if l.count != len(all) || l.high != 0 || int64(l.low) != sum || int64(l.mean()) != sum/int64(len(all)) || int64(l.most) != all[len(all)-1] {
			r.Fatalf("%d values of %d, at most %d", l.count, l.low, l.most)
		}
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			want := float64(all[min(int(q*float64(len(all))), len(all)-1)])
			if got := float64(l.quantile(q)); got < 0.995*want-1 || got > 1.005*want+1 {
				r.Fatalf("quantile %v is %v, want %v of %v", q, got, want, all)
			}
		}
	})
}

// Millions of requests that wait for days are more than a Duration holds.
func TestLatenciesOfCenturies(t *testing.T) {
	var l latencies
	const day = 24 * time.Hour
	for range 1_000_000 {
		l.add(day)
	}
	if mean := l.summary().Mean; mean != day.Seconds() {
		t.Errorf("a million days are %v s each", mean)
	}
}

func TestNoLatencies(t *testing.T) {
	var l latencies
	if l.summary() != (Latency{}) || l.quantile(0.5) != 0 {
		t.Error("nothing has a latency")
	}
}

// Whatever happens, the list is bounded, ascends at equal distances, and
// counts everything once.
func TestSeriesIsBoundedAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most := rapid.IntRange(2, 20).Draw(r, "max")
		s := newSeries(most)
		now, state := time.Duration(0), Sample{}
		history := []time.Duration{0} // when state.Waiting became 0, 1, …
		firsts, tokens := 0, 0
		var ttft, itl time.Duration
		for range rapid.IntRange(1, 60).Draw(r, "events") {
			to := now + time.Duration(rapid.Int64Range(1, int64(3*time.Second)).Draw(r, "passes"))
			s.reach(to-1, func() Sample { return state })
			now = to
			state.Waiting++
			history = append(history, now)
			d := time.Duration(rapid.IntRange(1, 1000).Draw(r, "latency"))
			if rapid.Bool().Draw(r, "first") {
				s.first(d)
				firsts, ttft = firsts+1, ttft+d
			} else {
				s.gap(d)
				tokens, itl = tokens+1, itl+d
			}
		}
		s.finish(now, func() Sample { return state })
		if len(s.samples) > most+1 {
			r.Fatalf("%d samples, want at most %d and the last", len(s.samples), most)
		}
		var sum Sample
		for i, x := range s.samples {
			sum.First += x.First
			sum.Tokens += x.Tokens
			sum.ttft += x.ttft
			sum.itl += x.itl
			at := time.Duration(x.Seconds * 1e9).Round(time.Microsecond)
			if i < len(s.samples)-1 && at != time.Duration(i)*s.every {
				r.Fatalf("sample %d stands at %v, want every %v", i, at, s.every)
			}
			if i < len(s.samples)-1 && (history[x.Waiting] > at || x.Waiting+1 < len(history) && history[x.Waiting+1] <= at) {
				r.Fatalf("the sample at %v shows state %d, which began at %v", at, x.Waiting, history[x.Waiting])
			}
		}
		if sum.First != firsts || sum.Tokens != tokens || sum.ttft != ttft || sum.itl != itl {
			r.Fatalf("the samples hold %+v, want %d firsts of %v and %d tokens of %v", sum, firsts, ttft, tokens, itl)
		}
	})
}

func TestPointsCanBeDrawn(t *testing.T) {
	f := plot.Usage("", points([]Sample{{Seconds: 0, Free: 10}, {Seconds: 1, Free: 5, Leased: 5, TTFT: 0.1, First: 1}}))
	if err := f.Validate(); err != nil {
		t.Error(err)
	}
}
