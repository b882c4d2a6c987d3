package former

import (
	"testing"

	"github.com/troupe-engine/troupe/sched/pace"
)

// Gauges show the requests of the step that runs, not those of the previous step: the
// step of a long prompt may take seconds.
func TestGaugesShowTheStepThatRuns(t *testing.T) {
	for _, inFlight := range []int{1, 2} {
		v := newVirtual(Options{PageSize: 16, Pages: 100, MaxRunning: 8, ContextLength: 512, StepsInFlight: inFlight}, func(pace.Load) float64 { return 1 })
		for i := range 3 {
			v.enqueue(40, 2+i, nil)
		}
		if v.shown != 1 {
			t.Errorf("%d in flight: %d run while the first prompt is computed, want 1", inFlight, v.shown)
		}
		v.step()
		if v.shown != 3 {
			t.Errorf("%d in flight: %d run while the next prompts are computed, want 3", inFlight, v.shown)
		}
		for v.step() {
		}
		if v.shown != 0 || len(v.ended) != 3 {
			t.Errorf("%d in flight: %d run at the end, %d have ended", inFlight, v.shown, len(v.ended))
		}
	}
}
