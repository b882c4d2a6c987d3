package replay

import (
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/messages"
)

func TestRunnerRunsStepsInOrder(t *testing.T) {
	opt := small(t)
	costs := costmodel.NewCosts(opt.GPU, opt.Model)
	r := newRunner(costs, 1)
	step := func(id messages.StepID) *messages.RunBatch {
		return &messages.RunBatch{Step: id, Work: []messages.RowWork{{Count: 1, Start: 10, Sample: 1}}}
	}
	took := costs.StepTime([]costmodel.Row{{Count: 1, Context: 10, Output: true}})
	if done := r.launch(time.Second, step(1)); done != time.Second+took {
		t.Errorf("an idle device is done at %v, want %v", done, time.Second+took)
	}
	if done := r.launch(time.Second, step(2)); done != time.Second+2*took {
		t.Errorf("a second step is done at %v, want %v", done, time.Second+2*took)
	}
	if first, second := r.complete().Step, r.complete().Step; first != 1 || second != 2 || r.busy != 2*took {
		t.Errorf("steps %d and %d, %v busy", first, second, r.busy)
	}
}
