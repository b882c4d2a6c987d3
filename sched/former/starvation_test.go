package former

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/sched/pace"
)

// starving is the options of the starvation tests: everything fits, so that
// only the sharing of steps counts.
func starving(target time.Duration, inFlight int) Options {
	return Options{PageSize: 64, Pages: 16 << 10, MaxRunning: 64, ContextLength: 128 << 10, ChunkedPrefillSize: 2048,
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
		cost func(pace.Load) float64
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
