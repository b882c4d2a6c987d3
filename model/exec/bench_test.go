package exec_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// BenchmarkDecodeStep is what the executor adds to a decode step of 64 rows
// beside the device.
func BenchmarkDecodeStep(b *testing.B) {
	const rows = 64
	canned := &gpu.StepResult{Rows: make([]gpu.RowResult, rows)}
	step := &messages.RunBatch{Header: messages.Header{Epoch: 1}}
	for row := range messages.Row(rows) {
		canned.Rows[row].Tokens = []int32{1}
		step.Work = append(step.Work, messages.RowWork{Row: row, Start: 100, Count: 1, Sample: 1})
	}
	e := exec.New(silent{&recorder{}, canned}, exec.Options{Vocab: vocab})
	done := func(_ *messages.BatchDone, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		step.Step++
		e.Submit(step, done)
	}
}
