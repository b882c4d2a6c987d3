package replay

import (
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/lab/plot"
)

// Whatever happens, the list is bounded, ascends at equal distances, and
// counts everything once.
func TestSeriesIsBoundedAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most := rapid.IntRange(2, 20).Draw(r, "max")
		s := series{max: most, every: firstEvery}
		now, state := time.Duration(0), plot.Sample{}
		history := []time.Duration{0} // when state.Waiting became 0, 1, …
		firsts, tokens := 0, 0
		var ttft, itl time.Duration
		for range rapid.IntRange(1, 60).Draw(r, "events") {
			to := now + time.Duration(rapid.Int64Range(1, int64(3*time.Second)).Draw(r, "passes"))
			s.reach(to-1, func() plot.Sample { return state })
			now = to
			state.Waiting++
			history = append(history, now)
			d := time.Duration(rapid.IntRange(1, 1000).Draw(r, "latency"))
			if rapid.Bool().Draw(r, "first") {
				s.total.First++
				s.total.ttft += d
				firsts, ttft = firsts+1, ttft+d
			} else {
				s.total.Tokens++
				s.total.itl += d
				tokens, itl = tokens+1, itl+d
			}
		}
		s.finish(now, func() plot.Sample { return state })
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
				r.Fatalf("sample %d is at %v, want every %v", i, at, s.every)
			}
			if i < len(s.samples)-1 && (history[int(x.Waiting)] > at || int(x.Waiting)+1 < len(history) && history[int(x.Waiting)+1] <= at) {
				r.Fatalf("the sample at %v shows state %v, which began at %v", at, x.Waiting, history[int(x.Waiting)])
			}
		}
		if sum.First != firsts || sum.Tokens != tokens || sum.ttft != ttft || sum.itl != itl {
			r.Fatalf("the samples hold %+v, want %d firsts of %v and %d tokens of %v", sum, firsts, ttft, tokens, itl)
		}
	})
}

func TestSeriesCanBeDrawn(t *testing.T) {
	r := &Report{Series: []Sample{{Sample: plot.Sample{Free: 10}}, {Sample: plot.Sample{Seconds: 1, Free: 5, Leased: 5, TTFT: 0.1}, tokenCount: tokenCount{First: 1}}}}
	if err := r.Usage().WriteFile(filepath.Join(t.TempDir(), "a.svg")); err != nil {
		t.Error(err)
	}
}
