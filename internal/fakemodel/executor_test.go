package fakemodel

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

var small = Options{PageSize: 4, Pages: 32, MaxRows: 4, Vocab: 64, EOSChance: 0.1, CheckReads: true}

func TestGenerationEqualsTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opt := small
		opt.PageSize = rapid.SampledFrom([]int{1, 2, 4, 16}).Draw(rt, "page")
		opt.Pages = 128 / opt.PageSize
		p := plain(40)
		p.Temperature = rapid.SampledFrom([]float32{0, 0.5, 1}).Draw(rt, "temperature")
		p.FrequencyPenalty = rapid.SampledFrom([]float32{0, 1}).Draw(rt, "penalty")
		p.MinTokens = rapid.IntRange(0, 10).Draw(rt, "min")
		p.EOSTokenIDs = []int32{0}
		p.StopTokenIDs = []int32{9, 10}
		in := prompt(rapid.IntRange(1, 40).Draw(rt, "prompt"), rapid.Int().Draw(rt, "salt"), opt.Vocab)
		want := Expected(opt, in, p, 30)

		d := &driver{t: t, e: New(opt)}
		chunk := rapid.IntRange(1, 50).Draw(rt, "chunk")
		got := d.generate(1, &messages.EngineRequest{ID: 1, Prompt: in, Params: p}, 1, 30, chunk)
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		for i, tok := range got[:p.MinTokens] {
			if tok == 0 || tok == 9 || tok == 10 {
				rt.Fatalf("end token %d drawn as output %d, before %d", tok, i, p.MinTokens)
			}
		}
		// Interrupted anywhere and submitted again, it goes on the same way.
		cut := rapid.IntRange(0, 29).Draw(rt, "cut")
		d = &driver{t: t, e: New(opt)}
		rest := d.generate(0, &messages.EngineRequest{ID: 1, Prompt: in, Output: want[:cut], Params: p}, 3, 30-cut, chunk)
		if !slices.Equal(rest, want[cut:]) {
			rt.Fatalf("after %d tokens got %v, want %v", cut, rest, want[cut:])
		}
	})
}

// shared drives two requests with a common prefix of two pages through one step
// each; corrupt changes the second row's page table first.
func shared(t *testing.T, opt Options, corrupt func(*messages.RowOpened)) (*messages.BatchDone, error, []int32) {
	d := &driver{t: t, e: New(opt)}
	a, b := prompt(12, 1, opt.Vocab), prompt(12, 1, opt.Vocab)
	b[10]++
	p := plain(5)
	d.must(&messages.RunBatch{
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: a, Params: p}}},
		Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 3)}},
		Work:   []messages.RowWork{{Row: 0, Count: 12, Sample: true}},
	})
	open := messages.RowOpened{Row: 1, Request: &messages.EngineRequest{ID: 2, Prompt: b, Params: p}, Pages: pages(1, 2)}
	corrupt(&open)
	done, err := d.try(&messages.RunBatch{
		Opened: []messages.RowOpened{open},
		Grown:  []messages.RowGrown{{Row: 1, Pages: pages(9, 1)}},
		Work:   []messages.RowWork{{Row: 1, Start: 8, Count: 4, Sample: true}},
	})
	return done, err, Expected(opt, b, p, 1)
}

func TestSharedPrefix(t *testing.T) {
	done, err, want := shared(t, small, func(*messages.RowOpened) {})
	if err != nil || done.Sampled[0].Token != want[0] {
		t.Fatalf("got %v %v, want token %d", done, err, want[0])
	}
}

func TestWrongPagesAreNoticed(t *testing.T) {
	for name, corrupt := range map[string]func(*messages.RowOpened){
		"swapped":   func(o *messages.RowOpened) { o.Pages = []messages.Page{2, 1} },
		"unwritten": func(o *messages.RowOpened) { o.Pages = []messages.Page{1, 20} },
		"later":     func(o *messages.RowOpened) { o.Pages = []messages.Page{1, 3} },
		"prefix":    func(o *messages.RowOpened) { o.Request.Prompt[3]++ },
	} {
		_, err, _ := shared(t, small, corrupt)
		if err == nil || !strings.Contains(err.Error(), "stale KV") {
			t.Errorf("%s: CheckReads gave %v", name, err)
		}
		unchecked := small
		unchecked.CheckReads = false
		unchecked.Vocab = 1 << 30
		done, err, want := shared(t, unchecked, corrupt)
		if err != nil || done.Sampled[0].Token == want[0] {
			t.Errorf("%s: unchecked reads gave %v, %v, want a token other than %d", name, done, err, want[0])
		}
	}
}

func TestNamespacesDoNotShare(t *testing.T) {
	_, err, _ := shared(t, small, func(o *messages.RowOpened) { o.Request.Namespace = "salt" })
	if err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Fatal(err)
	}
}

func TestReplacedPages(t *testing.T) {
	d := &driver{t: t, e: New(small)}
	in, p := prompt(8, 3, small.Vocab), plain(5)
	req := func(id messages.RequestID) *messages.EngineRequest {
		return &messages.EngineRequest{ID: id, Prompt: in, Params: p}
	}
	d.must(&messages.RunBatch{
		Opened: []messages.RowOpened{{Row: 0, Request: req(1)}, {Row: 1, Request: req(2)}},
		Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 3)}, {Row: 1, Pages: pages(4, 3)}},
		Work:   []messages.RowWork{{Row: 0, Count: 8, Sample: true}, {Row: 1, Count: 8, Sample: true}},
	})
	done := d.must(&messages.RunBatch{
		Replaced: []messages.RowReplaced{{Row: 1, First: 0, Pages: pages(1, 2)}},
		Work:     []messages.RowWork{{Row: 1, Start: 8, Count: 1, Sample: true}},
	})
	if want := Expected(small, in, p, 2)[1]; done.Sampled[0].Token != want {
		t.Fatalf("got %d, want %d", done.Sampled[0].Token, want)
	}
	// The freed pages may be written by another row now.
	d.must(&messages.RunBatch{
		Opened: []messages.RowOpened{{Row: 2, Request: req(3)}},
		Grown:  []messages.RowGrown{{Row: 2, Pages: pages(4, 2)}},
		Work:   []messages.RowWork{{Row: 2, Count: 8}},
	})
}

func TestParametersShapeOutput(t *testing.T) {
	in := prompt(10, 1, small.Vocab)
	base := Expected(small, in, plain(20), 20)
	change := map[string]func(*messages.SamplingParams){
		"temperature": func(p *messages.SamplingParams) { p.Temperature = 0.5 },
		"top_p":       func(p *messages.SamplingParams) { p.TopP = 0.5 },
		"top_k":       func(p *messages.SamplingParams) { p.TopK = 5 },
		"min_p":       func(p *messages.SamplingParams) { p.MinP = 0.5 },
		"frequency":   func(p *messages.SamplingParams) { p.FrequencyPenalty = 0.5 },
		"presence":    func(p *messages.SamplingParams) { p.PresencePenalty = 0.5 },
		"repetition":  func(p *messages.SamplingParams) { p.RepetitionPenalty = 0.5 },
		"bias":        func(p *messages.SamplingParams) { p.LogitBias = []messages.TokenBias{{Token: 3, Bias: 1}} },
		"seed":        func(p *messages.SamplingParams) { p.Seed++ },
		"choice":      func(p *messages.SamplingParams) { p.Choice++ },
		"greedy":      func(p *messages.SamplingParams) { p.Temperature = 0 },
	}
	for name, f := range change {
		p := plain(20)
		f(p)
		if slices.Equal(Expected(small, in, p, 20), base) {
			t.Errorf("%s has no effect", name)
		}
	}
	a, b := plain(20), plain(20)
	a.Temperature, b.Temperature, b.Seed = 0, 0, 99
	if !slices.Equal(Expected(small, in, a, 20), Expected(small, in, b, 20)) {
		t.Error("a greedy request depends on its seed")
	}
}

func TestEOSChanceAndEnds(t *testing.T) {
	opt := small
	p := plain(4000)
	p.EOSTokenIDs = []int32{5}
	count := func(chance float64) int {
		opt.EOSChance = chance
		n := 0
		for salt := range 20 {
			for _, tok := range Expected(opt, prompt(3, salt, opt.Vocab), p, 100) {
				if tok == 5 {
					n++
				}
			}
		}
		return n
	}
	if n := count(0); n != 0 {
		t.Errorf("chance 0 gave %d end tokens", n)
	}
	if n := count(0.25); n < 400 || n > 600 {
		t.Errorf("chance 0.25 gave %d of 2000", n)
	}
	opt.EOSChance = 1
	p.MinTokens = 3
	if out, why := ExpectedOutput(opt, prompt(3, 1, opt.Vocab), p, 0); len(out) != 4 || why != messages.EndEOS {
		t.Errorf("got %v, %v, want 4 tokens and eos", out, why)
	}
	opt.EOSChance = 0
	if out, why := ExpectedOutput(opt, prompt(3, 1, opt.Vocab), p, 10); len(out) != 7 || why != messages.EndLength {
		t.Errorf("got %v, %v, want 7 tokens and length", out, why)
	}
	full := Expected(opt, prompt(3, 1, opt.Vocab), p, 8)
	p.StopTokenIDs = []int32{full[7]}
	p.IgnoreEOS = true
	out, why := ExpectedOutput(opt, prompt(3, 1, opt.Vocab), p, 0)
	if why != messages.EndStopToken || out[len(out)-1] != full[7] {
		t.Errorf("got %v, %v, want an end at token %d", out, why, full[7])
	}
}

func TestLogprobs(t *testing.T) {
	d := &driver{t: t, e: New(small)}
	in, p := prompt(10, 1, small.Vocab), plain(5)
	p.TopLogprobs, p.PromptLogprobs, p.PromptLogprobStart = 3, 2, 2
	open := messages.RunBatch{
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: in, Params: p}}},
		Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 3)}},
		Work:   []messages.RowWork{{Row: 0, Count: 6}},
	}
	one := d.must(&open)
	two := d.must(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 6, Count: 4, Sample: true}}})
	if one.Prompts[0].First != 2 || len(one.Prompts[0].Logprobs) != 5 || two.Prompts[0].First != 7 || len(two.Prompts[0].Logprobs) != 3 {
		t.Fatalf("prompt log probabilities for other positions: %v, %v", one.Prompts, two.Prompts)
	}
	all := slices.Concat(one.Prompts[0].Logprobs, two.Prompts[0].Logprobs)
	for i, got := range all {
		if want := ExpectedLogprobs(small, in[:i+3], 2); !equalLogprobs(got, want) {
			t.Errorf("position %d: got %v, want %v", i+2, got, want)
		}
	}
	got := *two.Sampled[0].Logprobs
	if want := ExpectedLogprobs(small, append(slices.Clone(in), two.Sampled[0].Token), 3); !equalLogprobs(got, want) || len(got.Top) != 3 {
		t.Errorf("got %v, want %v", got, want)
	}
	for i := 1; i < len(got.Top); i++ {
		if got.Top[i].Logprob > got.Top[i-1].Logprob || got.Chosen.Logprob > got.Top[0].Logprob {
			t.Errorf("not the likeliest: %v", got)
		}
	}
}

func equalLogprobs(a, b messages.PositionLogprobs) bool {
	return a.Chosen == b.Chosen && slices.Equal(a.Top, b.Top)
}

func TestIllegalSteps(t *testing.T) {
	req := func(n int) *messages.EngineRequest {
		return &messages.EngineRequest{ID: 9, Prompt: prompt(n, 2, small.Vocab), Params: plain(9)}
	}
	work := func(r messages.Row, start, count int, sample bool) []messages.RowWork {
		return []messages.RowWork{{Row: r, Start: start, Count: count, Sample: sample}}
	}
	// Row 0 is open with 6 tokens, KV for 6 and pages 1, 2; one token sampled.
	for want, b := range map[string]*messages.RunBatch{
		"no work":                     {},
		"row 1 is given work but not": {Work: work(1, 0, 1, false)},
		"row 9 is given work, want":   {Work: work(9, 0, 1, false)},
		"row 0 has work twice":        {Work: slices.Concat(work(0, 6, 1, true), work(0, 6, 1, true))},
		"row 0 computes 0 tokens":     {Work: work(0, 6, 0, true)},
		"has KV for [0, 6)":           {Work: work(0, 5, 2, true)},
		"of 7 known tokens":           {Work: work(0, 6, 2, true)},
		"its 1 pages hold 4": {Opened: []messages.RowOpened{{Row: 1, Request: req(6)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(5, 1)}},
			Work: work(1, 0, 5, false)},
		"row 1 samples after position 2": {Opened: []messages.RowOpened{{Row: 1, Request: req(6)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(5, 2)}},
			Work: work(1, 0, 3, true)},
		"writes page 2, which stands in 2": {Opened: []messages.RowOpened{{Row: 1, Request: req(6)}}, Grown: []messages.RowGrown{{Row: 1, Pages: pages(2, 2)}},
			Work: work(1, 0, 3, false)},
		"row 0 is opened for request 9 but request 1 holds it": {Opened: []messages.RowOpened{{Row: 0, Request: req(6)}}},
		"row 7 is opened, want 0 to 3":                         {Opened: []messages.RowOpened{{Row: 7, Request: req(6)}}},
		"leaves nothing to compute":                            {Opened: []messages.RowOpened{{Row: 1, Request: req(8), Pages: pages(1, 2)}}},
		"gets page 0":                                          {Grown: []messages.RowGrown{{Row: 0, Pages: pages(0, 1)}}},
		"gets page 33":                                         {Grown: []messages.RowGrown{{Row: 0, Pages: pages(33, 1)}}},
		"row 2 is closed but not open":                         {Closed: []messages.Row{2}},
		"row 3 is grown but not open":                          {Grown: []messages.RowGrown{{Row: 3, Pages: pages(9, 1)}}},
		"pages [1, 3) are replaced, it has 2":                  {Replaced: []messages.RowReplaced{{Row: 0, First: 1, Pages: pages(9, 2)}}},
		"does not go on from": {Opened: []messages.RowOpened{{Row: 1, Output: []int32{1},
			Request: &messages.EngineRequest{ID: 9, Prompt: []int32{1}, Output: []int32{2}, Params: plain(9)}}}},
		"outside the vocabulary": {Opened: []messages.RowOpened{{Row: 1, Request: &messages.EngineRequest{ID: 9, Prompt: []int32{64}, Params: plain(9)}}}},
		"has no prompt":          {Opened: []messages.RowOpened{{Row: 1, Request: &messages.EngineRequest{ID: 9, Params: plain(9)}}}},
	} {
		d := &driver{t: t, e: New(small)}
		d.must(&messages.RunBatch{
			Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: prompt(6, 2, 64), Params: plain(9)}}},
			Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}},
			Work:   work(0, 0, 6, true),
		})
		_, err := d.try(b)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if v := d.e.Violations(); len(v) != 1 {
			t.Errorf("violations %v", v)
		}
		if _, err := d.try(&messages.RunBatch{Work: work(0, 6, 1, true)}); err == nil {
			t.Errorf("%q: the next step went through without Reset", want)
		}
	}
}

func TestStepAndEpochOrder(t *testing.T) {
	e := New(small)
	submit := func(epoch messages.Epoch, step messages.StepID) (err error) {
		e.Submit(&messages.RunBatch{Epoch: epoch, Step: step,
			Opened: []messages.RowOpened{{Row: messages.Row(step - 1), Request: &messages.EngineRequest{Prompt: []int32{1}, Params: plain(1)}}},
			Grown:  []messages.RowGrown{{Row: messages.Row(step - 1), Pages: pages(int(step), 1)}},
			Work:   []messages.RowWork{{Row: messages.Row(step - 1), Count: 1, Sample: true}},
		}, func(_ *messages.BatchDone, err2 error) { err = err2 })
		return err
	}
	if err := submit(1, 1); err != nil {
		t.Fatal(err)
	}
	if err := submit(1, 3); err == nil {
		t.Error("step 3 after 1 went through")
	}
	e.Reset()
	if err := submit(2, 1); err != nil {
		t.Fatal(err)
	}
	if err := submit(3, 2); err == nil {
		t.Error("epoch 3 went through without Reset")
	}
}

func TestFaults(t *testing.T) {
	opt := small
	opt.Faults = []Fault{{Step: 2, Kind: FailStep}}
	e := New(opt)
	req := &messages.EngineRequest{ID: 1, Prompt: prompt(4, 1, 64), Params: plain(8)}
	d := &driver{t: t, e: e}
	open := func() *messages.RunBatch {
		return &messages.RunBatch{Opened: []messages.RowOpened{{Row: 0, Request: req}}, Grown: []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}},
			Work: []messages.RowWork{{Row: 0, Count: 4, Sample: true}}}
	}
	d.must(open())
	_, err := d.try(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 4, Count: 1, Sample: true}}})
	var step *StepError
	if !errors.As(err, &step) || step.Sticky() || len(e.Violations()) != 0 {
		t.Fatalf("got %v, violations %v", err, e.Violations())
	}
	e.Reset()
	e.Inject(Fault{Step: 3, Kind: PanicStep})
	e.Inject(Fault{Step: 5, Every: 2, Kind: StickyStep})
	d.step = 0
	func() {
		defer func() {
			if recover() == nil {
				t.Error("step 3 did not panic")
			}
		}()
		d.must(open())
	}()
	d.step = 0
	d.must(open())
	for range 2 { // steps 5 and 7
		e.Reset()
		d.step = 0
		if _, err := d.try(open()); !errors.As(err, &step) || !step.Sticky() {
			t.Fatalf("got %v", err)
		}
		e.Reset()
		d.step = 0
		d.must(open()) // 6, 8
	}
	e.Reset()
	e.Inject(Fault{Step: 10, Kind: HangStep})
	d.step = 0
	if _, err := d.try(open()); err == nil { // 9
		t.Fatal("step 9 went through")
	}
	e.Reset()
	e.Submit(open(), func(*messages.BatchDone, error) { t.Error("a hung step completed") })
	e.Quiesce(func() { t.Error("a hung device is quiet") })
}

func TestManualAndAsync(t *testing.T) {
	in, p := prompt(5, 1, 64), plain(8)
	want := Expected(small, in, p, 2)
	steps := func() []*messages.RunBatch {
		return []*messages.RunBatch{
			{Epoch: 1, Step: 1, Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: in, Params: p}}},
				Grown: []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}}, Work: []messages.RowWork{{Row: 0, Count: 5, Sample: true}}},
			{Epoch: 1, Step: 2, Work: []messages.RowWork{{Row: 0, Start: 5, Count: 1, Sample: true}}},
		}
	}
	opt := small
	opt.Manual = true
	e := New(opt)
	var got []int32
	take := func(r *messages.BatchDone, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		got = append(got, r.Sampled[0].Token)
	}
	quiet := 0
	e.Quiesce(func() { quiet++ })
	for _, b := range steps() {
		e.Submit(b, take)
	}
	e.Quiesce(func() { quiet++ })
	if e.Pending() != 2 || len(got) != 0 || quiet != 1 {
		t.Fatalf("pending %d, got %v, quiet %d", e.Pending(), got, quiet)
	}
	for e.Complete() {
	}
	if !slices.Equal(got, want) || quiet != 2 {
		t.Fatalf("got %v, want %v; quiet %d", got, want, quiet)
	}

	opt.Manual, opt.Async, opt.StepTime = false, true, time.Millisecond
	e = New(opt)
	results := make(chan int32, 2)
	for _, b := range steps() {
		e.Submit(b, func(r *messages.BatchDone, err error) {
			if err != nil {
				t.Error(err)
			}
			results <- r.Sampled[0].Token
		})
	}
	done := make(chan struct{})
	e.Quiesce(func() { close(done) })
	<-done
	if a, b := <-results, <-results; !slices.Equal([]int32{a, b}, want) {
		t.Fatalf("got %d, %d, want %v", a, b, want)
	}
}

func TestPoolStartsWithGarbage(t *testing.T) {
	e := New(small)
	zeros := 0
	for _, v := range e.pool {
		if v == 0 {
			zeros++
		}
	}
	if zeros > len(e.pool)/10 {
		t.Fatalf("%d of %d slots are zero", zeros, len(e.pool))
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, bad := range []Options{{}, {PageSize: 1, Pages: 1, MaxRows: 1, Vocab: 1}, {PageSize: 1, Pages: 1, MaxRows: 1, Vocab: 2, EOSChance: 1.5}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := small.Validate(); err != nil {
		t.Error(err)
	}
}

func BenchmarkDecodeStep(b *testing.B) {
	opt := Options{PageSize: 16, Pages: 4096, MaxRows: 64, Vocab: 512}
	d := &driver{t: b, e: New(opt)}
	open := &messages.RunBatch{}
	rng := rand.New(rand.NewPCG(1, 2))
	per := 60
	for r := range messages.Row(64) {
		in := prompt(256, rng.Int(), 512)
		open.Opened = append(open.Opened, messages.RowOpened{Row: r, Request: &messages.EngineRequest{Prompt: in, Params: plain(1000)}})
		open.Grown = append(open.Grown, messages.RowGrown{Row: r, Pages: pages(1+int(r)*per, per)})
		open.Work = append(open.Work, messages.RowWork{Row: r, Count: 256, Sample: true})
	}
	d.must(open)
	at := 256
	for b.Loop() {
		step := &messages.RunBatch{}
		if at == per*16 { // full: start over
			d.e.Reset()
			d.step, at = 0, 256
			d.must(open)
		}
		for r := range messages.Row(64) {
			step.Work = append(step.Work, messages.RowWork{Row: r, Start: at, Count: 1, Sample: true})
		}
		d.must(step)
		at++
	}
}
