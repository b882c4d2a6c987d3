package exec_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// BenchmarkDecodeStep is what the executor adds to a decode step of 64 rows
// with penalties, beside the device.
func BenchmarkDecodeStep(b *testing.B) {
	const rows, context = 64, 2048
	canned := &gpu.StepResult{Sequences: make([]gpu.SequenceResult, rows)}
	e := exec.New(silent{&recorder{}, canned}, exec.Options{MaxRows: rows, PageSize: 16, Pages: rows * context / 16, Context: context, Vocab: 50})
	req := &messages.EngineRequest{Prompt: make([]int32, 100), Params: params(func(p *messages.SamplingParams) { p.FrequencyPenalty = 1 })}
	done := func(_ *messages.BatchDone, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	step := &messages.RunBatch{Header: messages.Header{Epoch: 1}}
	open := func() {
		e.Reset()
		*step = messages.RunBatch{Header: messages.Header{Epoch: 1}}
		for row := range messages.Row(rows) {
			var pages []messages.Page
			for p := range messages.Page(context / 16) {
				pages = append(pages, messages.Page(row)*context/16+p+1)
			}
			step.Opened = append(step.Opened, messages.RowOpened{Row: row, Request: req})
			step.Grown = append(step.Grown, messages.RowGrown{Row: row, Pages: pages})
			step.Work = append(step.Work, messages.RowWork{Row: row, Count: 100, Sample: true})
		}
	}
	run := func() {
		step.Step++
		e.Submit(step, done)
		step.Opened, step.Grown = nil, nil
		for i := range step.Work {
			step.Work[i].Start += step.Work[i].Count
			step.Work[i].Count = 1
		}
	}
	open()
	run()
	b.ReportAllocs()
	for b.Loop() {
		if step.Work[0].Start >= context {
			b.StopTimer()
			open()
			run()
			b.StartTimer()
		}
		run()
	}
}
