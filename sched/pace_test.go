package sched

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// starving is the options of the starvation tests: everything fits, so that
// only the sharing of steps counts.
func starving(target time.Duration, inFlight int) FormerOptions {
	return FormerOptions{PageSize: 64, Pages: 16 << 10, MaxRunning: 64, ContextLength: 128 << 10, ChunkedPrefillSize: 2048,
		InterTokenLatencyTarget: target, StepsInFlight: inFlight}
}

// decoders lets 32 requests decode for a while.
func decoders(v *virtual) {
	for range 32 {
		v.enqueue(200, 100_000, nil)
	}
	for v.done < 50 || len(v.first) < 32 {
		v.step()
	}
}

func longPrompts(v *virtual) {
	for range 8 {
		v.enqueue(100_000, 10, nil)
	}
}

// many is how many steps a simulation takes to tell quantiles. Builds with
// invariants check every page after every message, and so take fewer.
const many, manyChecked = 2000, 100

// 8 prompts of 100k tokens arrive beside 32 decoding requests. The target
// holds whenever it is one decode step and the smallest chunk, or more.
func TestTargetHoldsWhileLongPromptsArrive(t *testing.T) {
	targets, many := []time.Duration{12 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond}, many
	devices := []struct {
		name string
		cost func(load) float64
	}{
		{"linear", linear}, {"roofline", roofline}, {"linear, noisy", noisy(linear, 1)}, {"roofline, noisy", noisy(roofline, 2)},
	}
	if invariants.Enabled {
		targets, many, devices = targets[1:2], manyChecked, devices[:1]
	}
	for _, device := range devices {
		for _, target := range targets {
			for _, inFlight := range []int{1, 2} {
				v := newVirtual(starving(target, inFlight), device.cost)
				decoders(v)
				since, steps, before := v.now, v.done, v.prompt
				longPrompts(v)
				for v.done < steps+many {
					v.step()
				}
				p99, perStep := v.quantile(0.99, since), (v.prompt-before)/many
				t.Logf("%s, target %v, %d in flight: p50 %v, p99 %v, %d prompt tokens a step", device.name, target, inFlight, v.quantile(0.5, since), p99, perStep)
				if p99 > target {
					t.Errorf("%s, target %v, %d in flight: p99 is %v", device.name, target, inFlight, p99)
				}
				if len(v.notes) > 0 {
					t.Errorf("%s, target %v: %q", device.name, target, v.notes)
				}
			}
		}
	}
}

// Without a target the same prompts make steps several times as long.
func TestWithoutTargetLongPromptsSlowTokens(t *testing.T) {
	v := newVirtual(starving(0, 1), linear)
	decoders(v)
	since := v.now
	longPrompts(v)
	for v.done < 200 {
		v.step()
	}
	if p99 := v.quantile(0.99, since); p99 < 80*time.Millisecond {
		t.Errorf("p99 is %v without a target; the tests with one prove nothing", p99)
	}
}

// A target below one decode step and the smallest chunk gets one warning that
// names what can be kept; prompts go on by the smallest chunk. What it names
// can be kept.
func TestTargetOutOfReach(t *testing.T) {
	many := 1000
	if invariants.Enabled {
		many = manyChecked
	}
	run := func(target time.Duration) (*virtual, time.Duration, int) {
		v := newVirtual(starving(target, 1), linear)
		decoders(v)
		since, steps, before := v.now, v.done, v.prompt
		v.enqueue(100_000, 10, nil)
		for v.done < steps+many {
			v.step()
		}
		return v, v.quantile(0.99, since), v.prompt - before
	}
	v, _, prompt := run(4 * time.Millisecond)
	if len(v.notes) == 0 || len(v.notes) > 2 || prompt != (many-1)*64 { // one step was launched before
		t.Fatalf("%d prompt tokens in %d steps, notes %q", prompt, many, v.notes)
	}
	_, value, _ := strings.Cut(v.notes[len(v.notes)-1], "at least ")
	value, _, _ = strings.Cut(value, ",")
	reachable, err := time.ParseDuration(value)
	if err != nil || reachable < 5*time.Millisecond || reachable > 12*time.Millisecond {
		t.Fatalf("the note names %q: %s", value, v.notes[0])
	}
	v, p99, _ := run(reachable + reachable/10)
	if p99 > reachable+reachable/10 || len(v.notes) > 0 {
		t.Errorf("with the target %v that the note named, p99 is %v, notes %q", reachable, p99, v.notes)
	}
}

// The warning is taken back when fewer requests run, and comes again.
func TestTargetNotesOncePerChange(t *testing.T) {
	p := newPacing(&FormerOptions{PageSize: 16, ChunkedPrefillSize: 512, InterTokenLatencyTarget: 10 * time.Millisecond})
	out := &messages.Outbox{}
	for range 3 {
		for range 100 {
			p.check(64, 0.011, 0.012, 1.1, out)
		}
		for range 100 {
			p.check(8, 0.005, 0.006, 1.1, out)
		}
		p.check(64, 0.011, 0.012, 1.1, out) // one step is no change
	}
	if len(out.Notes) != 6 || out.Notes[0].Level != messages.NoteWarning || out.Notes[1].Level != messages.NoteInfo {
		t.Errorf("%d notes: %+v", len(out.Notes), out.Notes)
	}
}

// A prompt of 50 tokens that arrives behind 8 of 100k has its first token
// within 3 steps, with and without a target.
func TestShortPromptBehindLongOnes(t *testing.T) {
	targets := []time.Duration{0, 12 * time.Millisecond, 50 * time.Millisecond}
	if invariants.Enabled {
		targets = targets[1:2]
	}
	for _, target := range targets {
		for _, inFlight := range []int{1, 2} {
			v := newVirtual(starving(target, inFlight), linear)
			decoders(v)
			longPrompts(v)
			for range 100 {
				v.step()
			}
			steps := v.done
			id := v.enqueue(50, 10, nil)
			for v.first[id] == 0 {
				v.step()
			}
			// Steps that were launched before it arrived do not count.
			took := v.first[id] - steps - inFlight
			t.Logf("target %v, %d in flight: %d steps", target, inFlight, took)
			if took > 3 {
				t.Errorf("target %v, %d in flight: the first token came in step %d", target, inFlight, took)
			}
		}
	}
}

// The fit finds the coefficients that matter, from steps of all kinds.
func TestPaceLearnsLinearCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var truth features
		for i, most := range (features{20e-3, 100e-6, 1e-6, 1e-3, 1e-8}) {
			truth[i] = most * rapid.Float64Range(0.01, 1).Draw(t, fmt.Sprint("coefficient ", i))
		}
		draw := func() load {
			l := load{rows: rapid.IntRange(1, 64).Draw(t, "rows"), tokens: rapid.IntRange(0, 500).Draw(t, "tokens")}
			l.context = l.rows * rapid.IntRange(1, 2000).Draw(t, "context")
			l.pairs = pairs(rapid.IntRange(0, 50_000).Draw(t, "start"), l.tokens)
			return l
		}
		seconds := func(l load) (s float64) {
			for i, x := range l.features() {
				s += truth[i] * x
			}
			return s
		}
		var p pace
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
		p := &pace{}
		// Nothing, or something that is no rounding error.
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
	if n := (&pace{}).fits(-1, 0); n != 0 {
		t.Errorf("%d tokens fit into no time", n)
	}
}

// BenchmarkPace is what a step with a target costs beside its planning.
func BenchmarkPace(b *testing.B) {
	p := newPacing(&FormerOptions{PageSize: 16, ChunkedPrefillSize: 512, InterTokenLatencyTarget: 10 * time.Millisecond})
	out := &messages.Outbox{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l := load{rows: 64, context: 64_000 + i%1000, tokens: 100 + i%50, pairs: float64(1000 * (i % 100))}
		p.pace.observe(l, 8e-3, p.target)
		p.allow(512, l, 0, out)
	}
}
