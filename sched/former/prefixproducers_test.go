package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// Requests that wait for the prompt of another one do not hold up those after them,
// although they are more than there are rows.
func TestSharersDoNotHoldUpOthers(t *testing.T) {
	for _, inFlight := range []int{1, 2} {
		v := newVirtual(Options{PageSize: 16, Pages: 10_000, MaxRunning: 4, ContextLength: 20_000, ChunkedPrefillSize: 64, StepsInFlight: inFlight}, linear)
		document := func(r *messages.EngineRequest) {
			for i := range r.Prompt {
				r.Prompt[i] = int32(7_000 + i)
			}
		}
		first := v.enqueue(64*100, 4, document)
		v.steady(2)
		for range 40 {
			v.enqueue(64*100+20, 4, document)
		}
		v.steady(6)
		short := v.enqueue(20, 4, nil)
		at := v.done
		for v.first[short] == 0 && v.step() {
		}
		if took := v.first[short] - at; took > 3 || v.first[first] != 0 {
			t.Errorf("%d in flight: the short prompt has its first token after %d steps, want at most 3 while the document is computed", inFlight, took)
		}
		if n := len(v.former.batch.running); n > 2 {
			t.Errorf("%d in flight: %d run, the sharers do not wait", inFlight, n)
		}
		for v.step() {
		}
		if len(v.ended) != 42 || v.prompt > 64*100+41*64 {
			t.Errorf("%d in flight: %d ended, %d tokens of prompts were computed", inFlight, len(v.ended), v.prompt)
		}
	}
}
