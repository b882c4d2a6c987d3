package pace

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// The warning is taken back when fewer requests run, and comes again.
func TestTargetNotesOncePerChange(t *testing.T) {
	p := New(Options{PageSize: 16, ChunkSize: 512, Target: 10 * time.Millisecond})
	out := &messages.Outbox{}
	for range 3 {
		for range 100 {
			p.check(64, 0.011, 0.012, 1.1, out)
		}
		for range 100 {
			p.check(8, 0.005, 0.006, 1.1, out)
		}
		p.check(64, 0.011, 0.012, 1.1, out) // one step changes nothing
	}
	if len(out.Notes) != 6 || out.Notes[0].Level != messages.NoteWarning || out.Notes[1].Level != messages.NoteInfo {
		t.Errorf("%d notes: %+v", len(out.Notes), out.Notes)
	}
}

// The fit finds the coefficients that matter, from steps of all kinds.
func TestPaceLearnsLinearCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var truth features
		for i, most := range (features{20e-3, 100e-6, 1e-6, 1e-3, 1e-8}) {
			truth[i] = most * rapid.Float64Range(0.01, 1).Draw(t, fmt.Sprint("coefficient ", i))
		}
		draw := func() Load {
			l := Load{Rows: rapid.IntRange(1, 64).Draw(t, "rows"), Tokens: rapid.IntRange(0, 500).Draw(t, "tokens")}
			l.Context = l.Rows * rapid.IntRange(1, 2000).Draw(t, "context")
			l.Pairs = pairs(rapid.IntRange(0, 50_000).Draw(t, "start"), l.Tokens)
			return l
		}
		seconds := func(l Load) (s float64) {
			for i, x := range l.features() {
				s += truth[i] * x
			}
			return s
		}
		var p model
		for range 300 {
			l := draw()
			p.observe(l, seconds(l), 1)
		}
		var worst float64
		for range 20 {
			l := draw()
			worst = max(worst, math.Abs(p.predict(l.features())/seconds(l)-1))
		}
		if worst > 0.25 {
			t.Fatalf("a prediction is wrong by %.0f %%: %v, want %v", 100*worst, p.theta, truth)
		}
	})
}

// The longest chunk that fits costs what there is, and one token more does not.
func TestPaceFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &model{}
		// Nothing, or more than a rounding error.
		upTo := func(most float64) *rapid.Generator[float64] {
			return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(most*1e-9, most))
		}
		p.theta[perToken] = upTo(1e-3).Draw(t, "token")
		p.theta[perPair] = upTo(1e-7).Draw(t, "pair")
		seconds, start := upTo(1).Draw(t, "seconds"), rapid.IntRange(0, 200_000).Draw(t, "start")
		n := p.fits(seconds, start)
		if n < 0 || n == 0 && p.cost(start, 1) < seconds*(1-1e-6) {
			t.Fatalf("%d tokens fit", n)
		}
		if n == math.MaxInt32 {
			if p.cost(start, 1<<30) > seconds && seconds > 0 {
				t.Fatal("everything fits, and costs")
			}
			return
		}
		if p.cost(start, n) > seconds*(1+1e-6) || seconds > 0 && p.cost(start, n+1) < seconds*(1-1e-6) {
			t.Fatalf("%d tokens fit into %v s: %v, %v", n, seconds, p.cost(start, n), p.cost(start, n+1))
		}
	})
	if n := (&model{}).fits(-1, 0); n != 0 {
		t.Errorf("%d tokens fit into no time", n)
	}
}

// BenchmarkPace is what a step with a target costs beside its planning.
func BenchmarkPace(b *testing.B) {
	p := New(Options{PageSize: 16, ChunkSize: 512, Target: 10 * time.Millisecond})
	out := &messages.Outbox{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l := Load{Rows: 64, Context: 64_000 + i%1000, Tokens: 100 + i%50, Pairs: float64(1000 * (i % 100))}
		p.model.observe(l, 8e-3, p.target)
		p.Allow(512, l, 0, out)
	}
}
