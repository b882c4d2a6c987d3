package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// Requests that never stop by themselves, each of which may fill the pool, all
// end by their length, with and without a cache, with nothing left behind
// (item 25: 256 prompts of 1234 tokens with 90000 tokens of output, scaled).
func TestEndlessOutputsAllEnd(t *testing.T) {
	for _, cacheOff := range []bool{false, true} {
		for _, inFlight := range []int{1, 2} {
			const requests, prompt, output = 40, 123, 900
			v := newVirtual(Options{PageSize: 16, Pages: 64, MaxRunning: 16, ContextLength: 1024, ChunkedPrefillSize: 128,
				CacheDisabled: cacheOff, StepsInFlight: inFlight}, linear)
			for range requests {
				v.enqueue(prompt, output, nil)
			}
			for steps := 0; v.step(); steps++ {
				if steps > requests*output*2 {
					t.Fatalf("cache off %t: no end", cacheOff)
				}
			}
			if len(v.ended) != requests || v.tokens != requests*output || v.former.Load() != (Load{Resting: true}) {
				t.Errorf("cache off %t: %d requests ended with %d tokens; %+v is left", cacheOff, len(v.ended), v.tokens, v.former.Load())
			}
			if v.retractions == 0 {
				t.Errorf("cache off %t: no request was retracted", cacheOff)
			}
		}
	}
}

// A retracted request, or one that was preempted, keeps what it has when it is
// aborted while it waits: every token was reported once (item 28).
func TestAbortWhileRetracted(t *testing.T) {
	v := prioritized(1, 200, 1)
	low := v.urgent(20, 100, 0)
	v.steady(10)
	high := v.urgent(22, 30, 20)
	v.steady(5)
	last := v.last[low]
	if len(v.former.batch.retracted) != 1 || last == 0 {
		t.Fatal("0 was not preempted, or has got no token")
	}
	v.finish(low)
	v.step() // the end is reported with its results
	if len(v.ended) != 1 || v.ended[0] != low || v.last[low] != last {
		t.Errorf("ended %v, newest token at %v, was %v", v.ended, v.last[low], last)
	}
	for v.step() {
	}
	if len(v.ended) != 2 || v.ended[1] != high || v.former.Load() != (Load{Resting: true}) {
		t.Errorf("ended %v, left %+v", v.ended, v.former.Load())
	}
}

// A prompt that gives way before its first token reports its log probabilities
// once, all of them.
func TestRetractedPromptReportsOnce(t *testing.T) {
	s := sequenceOf(1, 12, 0, func(r *messages.EngineRequest) { r.Params.PromptLogprobs, r.Params.PromptLogprobStart = 0, 1 })
	f := New(options(nil))
	row, _ := f.pages.rows.Take()
	s.start(row, messages.PrefixLocked{}, 4)
	f.batch.running, f.batch.byID[1], f.batch.byRow[row] = []*sequence{s}, s, s
	logprobs := func(first, n int) *messages.PromptLogprobs {
		return &messages.PromptLogprobs{First: first, Logprobs: make([]messages.PositionLogprobs, n)}
	}
	s.addPrompts(logprobs(1, 4))
	f.retract([]victim{{s: s}}, &messages.Outbox{})
	s.addPrompts(logprobs(1, 4))
	s.addPrompts(logprobs(5, 7))
	if len(s.prompts) != 11 {
		t.Errorf("%d positions are reported, want 11", len(s.prompts))
	}
}
