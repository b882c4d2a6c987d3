package exec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// What only a RunBatch can do wrong is refused here; gpu/rows refuses the rest,
// which TestTheDeviceRefusesTheRest shows to arrive.
func TestIllegalStepsFailByName(t *testing.T) {
	open := func(change func(o *messages.RowOpened)) messages.RunBatch {
		o := opened(change)
		o[0].Row = 1
		return messages.RunBatch{Opened: o, Work: []messages.RowWork{{Row: 0, Start: 6, Count: 1}}}
	}
	cases := []struct {
		name string
		step messages.RunBatch
		want string
	}{
		{"the step has no rows", messages.RunBatch{}, "the step has no rows"},
		{"no request", open(func(o *messages.RowOpened) { o.Request = nil }), "row 1: opened without a request"},
		{"no parameters", open(func(o *messages.RowOpened) { o.Request.Params = nil }), "without a request or its sampling parameters"},
		{"output shorter than submitted", open(func(o *messages.RowOpened) { o.Request.Output = []int32{7} }), "does not begin with"},
		{"output differs from submitted", open(func(o *messages.RowOpened) { o.Request.Output, o.Output = []int32{7}, []int32{8} }), "does not begin with"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, m := fake(t, constant(3))
			d.must(first())
			if _, err := d.try(&c.step); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			// The device has not seen it.
			d.step--
			if done := d.must(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 6, Count: 1, Sample: 1}}}); done.Sampled[0].Token != 3 || len(m.done) != 0 {
				t.Errorf("after the refusal: %+v", done)
			}
		})
	}
}

func TestTheDeviceRefusesTheRest(t *testing.T) {
	for name, device := range devices(t) {
		d := newDriver(t, device, dummy(t, nil), gpu.F32, 4)
		d.must(first())
		if _, err := d.try(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 5, Count: 1}}}); err == nil || !strings.Contains(err.Error(), "has the KV of the first 6") {
			t.Errorf("%s: %v", name, err)
		}
		// What a failed step left is in between: nothing runs on it.
		if _, err := d.try(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 6, Count: 1}}}); err == nil || !strings.Contains(err.Error(), "were not reset") {
			t.Errorf("%s: after the failure: %v", name, err)
		}
		d.e.Reset(nil)
		d.step = 0
		d.must(first())
	}
}

func TestStepsComeInOrder(t *testing.T) {
	for _, c := range []struct {
		epoch messages.Epoch
		step  messages.StepID
		want  string
	}{{1, 3, "last step was 1"}, {1, 1, "last step was 1"}, {2, 2, "rows belong to epoch 1"}} {
		d, _ := fake(t, constant(3))
		d.must(first())
		var got error
		d.e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: c.epoch}, Step: c.step}, func(_ *messages.BatchDone, err error) { got = err })
		if got == nil || !strings.Contains(got.Error(), c.want) {
			t.Errorf("epoch %d step %d: %v, want %q", c.epoch, c.step, got, c.want)
		}
	}
}

// TestDeviceErrorsAndNonsense: what a device says wrong ends the step.
func TestDeviceErrorsAndNonsense(t *testing.T) {
	broken := errors.New("the device is broken")
	result := func(s ...gpu.RowResult) func(*gpu.StepBatch) (*gpu.StepResult, error) {
		return func(*gpu.StepBatch) (*gpu.StepResult, error) { return &gpu.StepResult{Rows: s}, nil }
	}
	for _, c := range []struct {
		name   string
		answer func(*gpu.StepBatch) (*gpu.StepResult, error)
		want   string
	}{
		{"error", func(*gpu.StepBatch) (*gpu.StepResult, error) { return nil, broken }, broken.Error()},
		{"nothing", func(*gpu.StepBatch) (*gpu.StepResult, error) { return nil, nil }, "no result"},
		{"too few", result(), "no result"},
		{"no token", result(gpu.RowResult{}), "sampled 0 tokens"},
		{"more than asked for", result(gpu.RowResult{Tokens: []int32{1, 2}}), "sampled 2 tokens"},
		{"negative token", result(gpu.RowResult{Tokens: []int32{-1}}), "sampled token -1"},
		{"token outside", result(gpu.RowResult{Tokens: []int32{50}}), "sampled token 50"},
	} {
		d, _ := fake(t, c.answer)
		done, err := d.try(first())
		if done != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.name, done, err)
		}
		if c.name == "error" && err != broken {
			t.Errorf("the device's own error came back as %v", err)
		}
	}
}

// TestResultsOfRows: a row may get several tokens, or none for a reason of its
// own, beside others.
func TestResultsOfRows(t *testing.T) {
	logprob := func(token int32) gpu.Logprobs {
		return gpu.Logprobs{Chosen: gpu.TokenLogprob{Token: token, Logprob: -1}}
	}
	d, _ := fake(t, func(b *gpu.StepBatch) (*gpu.StepResult, error) {
		if b.Work[0].Sample != 3 || b.Work[1].Sample != 1 || b.Work[2].Sample != 2 || b.Work[3].Sample != 0 {
			t.Errorf("the device got %+v", b.Work)
		}
		return &gpu.StepResult{Rows: []gpu.RowResult{
			{Tokens: []int32{7, 8, 9}}, {Err: gpu.ErrNothingToSample}, {Tokens: []int32{5}, Logprobs: []gpu.Logprobs{logprob(5)}},
			{ScoredFrom: 4, Scores: []gpu.Logprobs{logprob(1), logprob(2)}},
		}}, nil
	})
	done := d.must(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Count: 1, Sample: 3}, {Row: 1, Count: 1, Sample: 1}, {Row: 2, Count: 1, Sample: 2}, {Row: 3, Count: 1}}})
	var rows []messages.Row
	var tokens []int32
	for _, s := range done.Sampled {
		rows, tokens = append(rows, s.Row), append(tokens, s.Token)
	}
	if !slices.Equal(rows, []messages.Row{0, 0, 0, 2}) || !slices.Equal(tokens, []int32{7, 8, 9, 5}) || done.Sampled[3].Logprobs.Chosen.Token != 5 {
		t.Errorf("sampled %+v", done.Sampled)
	}
	if len(done.Failed) != 1 || done.Failed[0].Row != 1 || done.Failed[0].Reason != gpu.ErrNothingToSample.Error() {
		t.Errorf("failed %+v", done.Failed)
	}
	if len(done.Prompts) != 1 || done.Prompts[0].Row != 3 || done.Prompts[0].First != 4 || len(done.Prompts[0].Logprobs) != 2 {
		t.Errorf("prompts %+v", done.Prompts)
	}
}

// TestTwoStepsAtOnce: a step goes to the device while another one is there, with
// memory of its own; a Reset goes with the first step after it.
func TestTwoStepsAtOnce(t *testing.T) {
	d, m := fake(t, constant(3))
	m.manual = true
	var steps []gpu.StepBatch
	m.answer = func(b *gpu.StepBatch) (*gpu.StepResult, error) { steps = append(steps, *b); return constant(3)(b) }
	var ends []messages.StepID
	end := func(done *messages.BatchDone, err error) {
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, done.Step)
	}
	b := first()
	b.Epoch, b.Step = 1, 1
	d.e.Submit(b, end)
	second := &messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 2, Work: []messages.RowWork{{Row: 0, Start: 6, Count: 1, Sample: 1}}}
	d.e.Submit(second, end)
	if len(m.done) != 2 {
		t.Fatalf("%d steps are on the device, want 2", len(m.done))
	}
	m.complete()
	m.complete()
	if len(ends) != 2 || ends[0] != 1 || ends[1] != 2 {
		t.Fatalf("ends of steps %v", ends)
	}
	if !steps[0].Reset || steps[1].Reset || len(steps[0].Opened) != 1 || len(steps[1].Opened) != 0 || steps[1].Work[0].Start != 6 {
		t.Errorf("the device got %+v", steps)
	}
	d.e.Reset(nil)
	again := first()
	again.Epoch, again.Step = 2, 1
	d.e.Submit(again, end)
	if m.complete(); !steps[2].Reset {
		t.Error("the first step after Reset does not close the rows")
	}
	quiet := 0
	d.e.Quiesce(func() { quiet++ })
	if quiet != 1 || len(m.quiet) != 1 {
		t.Errorf("quiet %d, the device was asked %d times", quiet, len(m.quiet))
	}
}

// TestDecodeStepsAllocateNothing, whatever the device does.
func TestDecodeStepsAllocateNothing(t *testing.T) {
	canned := &gpu.StepResult{Rows: []gpu.RowResult{{Tokens: []int32{1}}}}
	e := exec.New(silent{&recorder{}, canned}, exec.Options{Vocab: vocab})
	req := &messages.EngineRequest{Prompt: []int32{1}, Params: params(func(p *messages.SamplingParams) { p.FrequencyPenalty, p.MinTokens, p.StopTokenIDs = 1, 99, []int32{3} })}
	b := &messages.RunBatch{Header: messages.Header{Epoch: 1}, Opened: []messages.RowOpened{{Request: req}},
		Grown: []messages.RowGrown{{Pages: pages(1, 2, 3)}}, Work: []messages.RowWork{{Count: 1, Sample: 1}}}
	var failed error
	done := func(_ *messages.BatchDone, err error) { failed = err }
	run := func() {
		b.Step++
		e.Submit(b, done)
		b.Opened, b.Grown = nil, nil
		b.Work[0].Start++
	}
	for range 3 { // the answers are used in turns
		run()
	}
	if n := testing.AllocsPerRun(500, run); n > 0 || failed != nil {
		t.Errorf("%g allocations a step, want none; error %v", n, failed)
	}
}

// silent answers at once with the same result.
type silent struct {
	*recorder
	result *gpu.StepResult
}

func (s silent) Submit(_ *gpu.StepBatch, done func(*gpu.StepResult, error)) { done(s.result, nil) }
