package exec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// first is a legal step that leaves row 0 with seven tokens, six computed.
func first() *messages.RunBatch {
	return &messages.RunBatch{Opened: opened(nil), Grown: []messages.RowGrown{{Row: 0, Pages: pages(2)}},
		Work: []messages.RowWork{{Row: 0, Start: 4, Count: 2, Sample: true}}}
}

func TestIllegalStepsFailByName(t *testing.T) {
	work := func(w ...messages.RowWork) messages.RunBatch { return messages.RunBatch{Work: w} }
	open := func(change func(o *messages.RowOpened)) messages.RunBatch {
		o := opened(change)
		if change == nil || o[0].Row == 0 {
			o[0].Row = 1
		}
		return messages.RunBatch{Opened: o, Work: []messages.RowWork{{Row: 0, Start: 6, Count: 1}}}
	}
	next := messages.RowWork{Row: 0, Start: 6, Count: 1, Sample: true}
	cases := []struct {
		name string
		step messages.RunBatch
		want string
	}{
		{"no work", messages.RunBatch{}, "no work"},
		{"closed, not open", messages.RunBatch{Closed: []messages.Row{1}}, "row 1 is closed but not open"},
		{"closed, outside", messages.RunBatch{Closed: []messages.Row{4}}, "row 4 is closed; there are rows 0 to 3"},
		{"closed, negative", messages.RunBatch{Closed: []messages.Row{-1}}, "row -1"},
		{"opened twice", messages.RunBatch{Opened: opened(nil)}, "request 9 holds it"},
		{"opened outside", open(func(o *messages.RowOpened) { o.Row = 99 }), "row 99 is opened"},
		{"no request", open(func(o *messages.RowOpened) { o.Request = nil }), "without a request"},
		{"no parameters", open(func(o *messages.RowOpened) { o.Request.Params = nil }), "without a request or its parameters"},
		{"no prompt", open(func(o *messages.RowOpened) { o.Request.Prompt = nil }), "no prompt"},
		{"token outside", open(func(o *messages.RowOpened) { o.Request.Prompt[3] = 50 }), "token 50"},
		{"output token negative", open(func(o *messages.RowOpened) { o.Output = []int32{-1} }), "token -1"},
		{"output shorter than submitted", open(func(o *messages.RowOpened) { o.Request.Output = []int32{7} }), "does not go on"},
		{"output differs from submitted", open(func(o *messages.RowOpened) { o.Request.Output, o.Output = []int32{7}, []int32{8} }), "does not go on"},
		{"beyond the context", open(func(o *messages.RowOpened) { o.Request.Prompt = make([]int32, 65) }), "context is 64"},
		{"cached whole", open(func(o *messages.RowOpened) { o.Pages = pages(1, 2) }), "nothing to compute"},
		{"page 0", open(func(o *messages.RowOpened) { o.Pages = pages(0) }), "page 0; there are pages 1 to 100"},
		{"page outside", messages.RunBatch{Grown: []messages.RowGrown{{Row: 0, Pages: pages(101)}}}, "page 101"},
		{"grown, not open", messages.RunBatch{Grown: []messages.RowGrown{{Row: 2, Pages: pages(3)}}}, "row 2 is grown but not open"},
		{"replaced beyond", messages.RunBatch{Replaced: []messages.RowReplaced{{Row: 0, First: 1, Pages: pages(3, 4)}}}, "2 pages from 1 on"},
		{"replaced before", messages.RunBatch{Replaced: []messages.RowReplaced{{Row: 0, First: -1, Pages: pages(3)}}}, "from -1 on"},
		{"replaced by page 0", messages.RunBatch{Replaced: []messages.RowReplaced{{Row: 0, First: 0, Pages: pages(0)}}}, "page 0"},
		{"work, not open", work(messages.RowWork{Row: 2, Count: 1}), "row 2 is given work but not open"},
		{"work twice", work(next, next), "row 0 has work twice"},
		{"work of nothing", work(messages.RowWork{Row: 0, Start: 6}), "computes 0"},
		{"work without end", work(messages.RowWork{Row: 0, Start: 6, Count: 1 << 62}), "of 7 known tokens"},
		{"a gap", work(messages.RowWork{Row: 0, Start: 7, Count: 1}), "has the KV of the first 6"},
		{"again", work(messages.RowWork{Row: 0, Start: 5, Count: 1}), "has the KV of the first 6"},
		{"unknown tokens", work(messages.RowWork{Row: 0, Start: 6, Count: 2}), "of 7 known tokens"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, _ := fake(t, constant(3))
			d.must(first())
			if _, err := d.try(&c.step); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			// What a failed step left is in between: nothing runs on it.
			if _, err := d.try(&messages.RunBatch{Work: []messages.RowWork{next}}); err == nil || !strings.Contains(err.Error(), "Reset was not called") {
				t.Fatalf("after the failure: %v", err)
			}
			d.e.Reset()
			d.step = 0
			if done := d.must(first()); done.Sampled[0].Token != 3 {
				t.Errorf("after Reset: %+v", done)
			}
		})
	}
}

func TestStepsComeInOrder(t *testing.T) {
	for _, c := range []struct {
		epoch messages.Epoch
		step  messages.StepID
		want  string
	}{{1, 3, "last step was 1"}, {1, 1, "last step was 1"}, {2, 2, "rows are of epoch 1"}} {
		d, _ := fake(t, constant(3))
		d.must(first())
		var got error
		d.e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: c.epoch}, Step: c.step}, func(_ *messages.BatchDone, err error) { got = err })
		if got == nil || !strings.Contains(got.Error(), c.want) {
			t.Errorf("epoch %d step %d: %v, want %q", c.epoch, c.step, got, c.want)
		}
	}
}

func TestWorkNeedsPagesAndSamplesAtTheEnd(t *testing.T) {
	d, _ := fake(t, constant(3))
	if _, err := d.try(&messages.RunBatch{Opened: opened(nil), Work: []messages.RowWork{{Row: 0, Start: 4, Count: 2}}}); err == nil || !strings.Contains(err.Error(), "1 pages hold 4") {
		t.Errorf("no pages: %v", err)
	}
	d, _ = fake(t, constant(3))
	b := first()
	b.Work[0].Count = 1
	if _, err := d.try(b); err == nil || !strings.Contains(err.Error(), "samples after position 4, but has 6 tokens") {
		t.Errorf("sample in the middle: %v", err)
	}
}

// TestDeviceErrorsAndNonsense: what a device says wrong ends the step and never
// reaches the rows.
func TestDeviceErrorsAndNonsense(t *testing.T) {
	broken := errors.New("the device is broken")
	result := func(s ...gpu.SequenceResult) func(*gpu.StepBatch) (*gpu.StepResult, error) {
		return func(*gpu.StepBatch) (*gpu.StepResult, error) { return &gpu.StepResult{Sequences: s}, nil }
	}
	for _, c := range []struct {
		name   string
		answer func(*gpu.StepBatch) (*gpu.StepResult, error)
		want   string
	}{
		{"error", func(*gpu.StepBatch) (*gpu.StepResult, error) { return nil, broken }, broken.Error()},
		{"nothing", func(*gpu.StepBatch) (*gpu.StepResult, error) { return nil, nil }, "did not answer"},
		{"too few", result(), "did not answer"},
		{"no token", result(gpu.SequenceResult{Token: -1}), "drew token -1"},
		{"token outside", result(gpu.SequenceResult{Token: 50}), "drew token 50"},
		{"no scores", result(gpu.SequenceResult{Token: 1}), "scored 0 tokens"},
	} {
		d, _ := fake(t, c.answer)
		b := first()
		if c.name == "no scores" {
			b.Opened[0].Request.Params.PromptLogprobs = 0
		}
		done, err := d.try(b)
		if done != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.name, done, err)
		}
		if c.name == "error" && err != broken {
			t.Errorf("the device's own error came back as %v", err)
		}
		if _, err := d.try(first()); err == nil {
			t.Errorf("%s: a further step ran", c.name)
		}
	}
}

// TestOneStepAtATime covers a Submit, a Reset and a Quiesce while a step is
// under way.
func TestOneStepAtATime(t *testing.T) {
	d, m := fake(t, constant(3))
	m.manual = true
	var ends []error
	end := func(_ *messages.BatchDone, err error) { ends = append(ends, err) }
	b := first()
	b.Epoch, b.Step = 1, 1
	d.e.Submit(b, end)
	d.e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 2}, end)
	if len(ends) != 1 || ends[0] == nil || !strings.Contains(ends[0].Error(), "under way") {
		t.Fatalf("second step: %v", ends)
	}
	quiet := 0
	d.e.Quiesce(func() { quiet++ })
	if quiet != 0 {
		t.Fatal("quiet with a step under way")
	}
	m.done()
	if len(ends) != 2 || ends[1] != nil || quiet != 1 {
		t.Fatalf("the first step ended with %v, quiet %d", ends[1], quiet)
	}

	// The refusal changed nothing: step 2 still goes. Reset cuts it off.
	d.e.Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 2, Work: []messages.RowWork{{Row: 0, Start: 6, Count: 1}}}, end)
	d.e.Reset()
	m.done()
	if len(ends) != 3 || ends[2] == nil || !strings.Contains(ends[2].Error(), "Reset was called") {
		t.Fatalf("the step under Reset ended with %v", ends)
	}
	m.manual, d.step = false, 0
	if done := d.must(first()); len(done.Sampled) != 1 {
		t.Errorf("after Reset: %+v", done)
	}
	d.e.Quiesce(func() { quiet++ })
	if quiet != 2 || len(m.quiet) != 2 {
		t.Errorf("quiet %d, the device was asked %d times", quiet, len(m.quiet))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if err := small.Validate(); err != nil {
		t.Error(err)
	}
	for _, o := range []exec.Options{{}, {MaxRows: 1, PageSize: 3, Pages: 1, Context: 1, Vocab: 1}, {MaxRows: 1, PageSize: 4, Pages: 1, Vocab: 1}} {
		if o.Validate() == nil {
			t.Errorf("accepted %+v", o)
		}
	}
}

// TestDecodeStepsAllocateLittle: the answer and what a device needs, nothing
// that grows with rows or tokens.
func TestDecodeStepsAllocateLittle(t *testing.T) {
	canned := &gpu.StepResult{Sequences: make([]gpu.SequenceResult, 1)}
	m := &recorder{}
	e := exec.New(silent{m, canned}, exec.Options{MaxRows: 1, PageSize: 4, Pages: 2000, Context: 8000, Vocab: 50})
	req := &messages.EngineRequest{Prompt: []int32{1}, Params: params(func(p *messages.SamplingParams) { p.FrequencyPenalty, p.MinTokens, p.StopTokenIDs = 1, 99, []int32{3} })}
	var table []messages.Page
	for p := range messages.Page(2000) {
		table = append(table, p+1)
	}
	b := &messages.RunBatch{Header: messages.Header{Epoch: 1}, Opened: []messages.RowOpened{{Request: req}}, Grown: []messages.RowGrown{{Pages: table}}, Work: []messages.RowWork{{Count: 1, Sample: true}}}
	var failed error
	done := func(_ *messages.BatchDone, err error) { failed = err }
	run := func() {
		b.Step++
		e.Submit(b, done)
		b.Opened, b.Grown = nil, nil
		b.Work[0].Start++
	}
	for range 3000 { // lets the row's slices grow to their size
		run()
	}
	if n := testing.AllocsPerRun(500, run); n > 2 || failed != nil {
		t.Errorf("%g allocations a step, want 2 (the answer and its list); error %v", n, failed)
	}
}

// silent answers at once with the same result.
type silent struct {
	*recorder
	result *gpu.StepResult
}

func (s silent) Submit(_ *gpu.StepBatch, done func(*gpu.StepResult, error)) { done(s.result, nil) }
