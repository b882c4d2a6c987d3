package fakemodel

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

var small = Options{PageSize: 4, Pages: 32, MaxRows: 4, Vocab: 64, EOSChance: 0.1, CheckReads: true}

func TestGenerationEqualsTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opt := small
		opt.PageSize = rapid.SampledFrom([]int{1, 2, 4, 16}).Draw(rt, "page")
		opt.Pages = 128 / opt.PageSize
		opt.TokensPerStep = rapid.IntRange(0, 5).Draw(rt, "tokens")
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
func shared(t *testing.T, opt Options, corrupt func(*messages.RowOpened)) (*messages.BatchDone, []int32, error) {
	d := &driver{t: t, e: New(opt)}
	a, b := prompt(12, 1, opt.Vocab), prompt(12, 1, opt.Vocab)
	b[10]++
	p := plain(5)
	d.must(&messages.RunBatch{
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: a, Params: p}}},
		Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 3)}},
		Work:   []messages.RowWork{{Row: 0, Count: 12, Sample: 1}},
	})
	open := messages.RowOpened{Row: 1, Request: &messages.EngineRequest{ID: 2, Prompt: b, Params: p}, Pages: pages(1, 2)}
	corrupt(&open)
	done, err := d.try(&messages.RunBatch{
		Opened: []messages.RowOpened{open},
		Grown:  []messages.RowGrown{{Row: 1, Pages: pages(9, 1)}},
		Work:   []messages.RowWork{{Row: 1, Start: 8, Count: 4, Sample: 1}},
	})
	return done, Expected(opt, b, p, 1), err
}

func TestSharedPrefix(t *testing.T) {
	done, want, err := shared(t, small, func(*messages.RowOpened) {})
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
		_, _, err := shared(t, small, corrupt)
		if err == nil || !strings.Contains(err.Error(), "stale KV") {
			t.Errorf("%s: CheckReads gave %v", name, err)
		}
		unchecked := small
		unchecked.CheckReads = false
		unchecked.Vocab = 1 << 30
		done, want, err := shared(t, unchecked, corrupt)
		if err != nil || done.Sampled[0].Token == want[0] {
			t.Errorf("%s: unchecked reads gave %v, %v, want a token other than %d", name, done, err, want[0])
		}
	}
}

func TestNamespacesDoNotShare(t *testing.T) {
	_, _, err := shared(t, small, func(o *messages.RowOpened) { o.Request.Namespace = "salt" })
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
		Work:   []messages.RowWork{{Row: 0, Count: 8, Sample: 1}, {Row: 1, Count: 8, Sample: 1}},
	})
	done := d.must(&messages.RunBatch{
		Replaced: []messages.RowReplaced{{Row: 1, First: 0, Pages: pages(1, 2)}},
		Work:     []messages.RowWork{{Row: 1, Start: 8, Count: 1, Sample: 1}},
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
	two := d.must(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 6, Count: 4, Sample: 1}}})
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

// Several tokens of a row in a step are those that come one by one, and the next
// step finds the KV of all but the last.
func TestSeveralTokensInAStep(t *testing.T) {
	opt := small
	opt.TokensPerStep = 4
	d := &driver{t: t, e: New(opt)}
	in, p := prompt(5, 1, opt.Vocab), plain(40)
	p.TopLogprobs = 1
	req := &messages.EngineRequest{ID: 1, Prompt: in, Params: p}
	b := &messages.RunBatch{Opened: []messages.RowOpened{{Request: req}}, Grown: []messages.RowGrown{{Pages: pages(1, 12)}}, Work: []messages.RowWork{{Count: 5, Sample: 4}}}
	var got []int32
	counts := map[int]int{}
	for len(got) < 30 {
		done := d.must(b)
		counts[len(done.Sampled)]++
		for _, s := range done.Sampled {
			got = append(got, s.Token)
			known := append(slices.Clone(in), got...)
			if want := ExpectedLogprobs(opt, known, 1); !equalLogprobs(*s.Logprobs, want) {
				t.Fatalf("token %d: %+v, want %+v", len(got), *s.Logprobs, want)
			}
		}
		b = &messages.RunBatch{Work: []messages.RowWork{{Start: len(in) + len(got) - 1, Count: 1, Sample: min(4, 40-len(got))}}}
	}
	if want := Expected(opt, in, p, len(got)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for n := 1; n <= 4; n++ {
		if counts[n] == 0 {
			t.Errorf("no step gave %d tokens: %v", n, counts)
		}
	}
}

// A row with a grammar samples what the grammar allows, ends where nothing else may follow, and
// is late now and then, which changes nothing.
func TestGrammars(t *testing.T) {
	opt := small
	opt.EOSChance, opt.LateChance, opt.TokensPerStep = 0, 0.4, 3
	opt.Allowed = func(_ *messages.Grammar, output []int32) func(int32) bool {
		return func(token int32) bool { // nine odd tokens, then an end token
			return len(output) < 9 && token%2 == 1 || len(output) == 9 && token == 0
		}
	}
	for name, c := range map[string]struct{ least, outputs int }{"alone": {0, 10}, "with min_tokens beyond its end": {20, 10}} {
		t.Run(name, func(t *testing.T) {
			in, p := prompt(5, 1, opt.Vocab), plain(40)
			p.Grammar, p.EOSTokenIDs, p.MinTokens = &messages.Grammar{}, []int32{0}, c.least
			d := &driver{t: t, e: New(opt)}
			b := &messages.RunBatch{Opened: []messages.RowOpened{{Request: &messages.EngineRequest{ID: 1, Prompt: in, Params: p}}},
				Grown: []messages.RowGrown{{Pages: pages(1, 12)}}, Work: []messages.RowWork{{Count: 5, Sample: 3}}}
			var got []int32
			late := 0
			for len(got) < c.outputs {
				done := d.must(b)
				late += len(done.Late)
				for _, s := range done.Sampled {
					got = append(got, s.Token)
				}
				b = &messages.RunBatch{Work: []messages.RowWork{{Start: len(in) + len(got) - 1, Count: 1, Sample: min(3, c.outputs-len(got))}}}
			}
			want, reason := ExpectedOutput(opt, in, p, 0)
			if !slices.Equal(got, want) || len(want) != c.outputs || reason != messages.EndEOS || late == 0 {
				t.Errorf("got %v, late %d times; want %v, which ends by %v", got, late, want, reason)
			}
			for i, token := range got[:9] {
				if token%2 != 1 {
					t.Errorf("output %d is %d", i, token)
				}
			}
		})
	}
	opt.LateChance = 1
	if opt.Validate() == nil {
		t.Error("a row that is always late is accepted")
	}
}

// A row of which no token can be sampled fails alone, and in the step behind
// again.
func TestARowOfWhichNothingCanBeSampled(t *testing.T) {
	opt := small
	opt.Vocab = 8
	d := &driver{t: t, e: New(opt)}
	stuck, mate := plain(9), plain(9)
	stuck.MinTokens = 3
	for token := range int32(8) {
		stuck.StopTokenIDs = append(stuck.StopTokenIDs, token)
	}
	in := prompt(3, 1, opt.Vocab)
	done := d.must(&messages.RunBatch{
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 1, Prompt: in, Params: stuck}}, {Row: 1, Request: &messages.EngineRequest{ID: 2, Prompt: in, Params: mate}}},
		Grown:  []messages.RowGrown{{Row: 0, Pages: pages(1, 2)}, {Row: 1, Pages: pages(3, 2)}},
		Work:   []messages.RowWork{{Row: 0, Count: 3, Sample: 1}, {Row: 1, Count: 3, Sample: 1}},
	})
	again := d.must(&messages.RunBatch{Work: []messages.RowWork{{Row: 0, Start: 3, Count: 1, Sample: 1}, {Row: 1, Start: 3, Count: 1, Sample: 1}}})
	want := Expected(opt, in, mate, 2)
	for i, d := range []*messages.BatchDone{done, again} {
		if len(d.Failed) != 1 || d.Failed[0].Row != 0 || len(d.Sampled) != 1 || d.Sampled[0].Row != 1 || d.Sampled[0].Token != want[i] {
			t.Errorf("step %d: %+v", i+1, d)
		}
	}
	if out, why := ExpectedOutput(opt, in, stuck, 0); len(out) != 0 || why != messages.EndFailed {
		t.Errorf("expected are %v and %s", out, why)
	}
}
