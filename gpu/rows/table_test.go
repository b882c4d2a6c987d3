package rows

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
)

var (
	program = &gpu.Program{Vocab: 50, Context: 64}
	small   = gpu.PoolSpec{PageSize: 4, Pages: 100, Rows: 4, Context: 60, StepTokens: 64}
)

// answer samples one token for every sequence that samples.
func answer(token int32) func([]Sequence) error {
	return func(all []Sequence) error {
		for i := range all {
			if all[i].Sample != nil {
				all[i].Result.Tokens = append(all[i].Result.Tokens, token)
			}
		}
		return nil
	}
}

// opened is row 0 with six tokens, of which four are cached.
func opened(change func(o *gpu.RowOpened)) []gpu.RowOpened {
	o := gpu.RowOpened{Prompt: []int32{1, 2, 3, 4, 5, 6}, Pages: []int32{1}, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}}
	if change != nil {
		change(&o)
	}
	return []gpu.RowOpened{o}
}

// first is a legal step that leaves row 0 with seven tokens, six computed.
func first() *gpu.StepBatch {
	return &gpu.StepBatch{Opened: opened(nil), Grown: []gpu.RowGrown{{Pages: []int32{2}}}, Work: []gpu.RowWork{{Start: 4, Count: 2, Sample: 1}}}
}

func TestIllegalStepsFailByName(t *testing.T) {
	work := func(w ...gpu.RowWork) gpu.StepBatch { return gpu.StepBatch{Work: w} }
	open := func(change func(o *gpu.RowOpened)) gpu.StepBatch {
		return gpu.StepBatch{Opened: opened(func(o *gpu.RowOpened) {
			o.Row = 1
			change(o)
		})}
	}
	sampling := func(change func(s *gpu.Sampling)) gpu.StepBatch {
		return open(func(o *gpu.RowOpened) { change(&o.Sampling) })
	}
	next := gpu.RowWork{Start: 6, Count: 1, Sample: 1}
	masked := func(words, samples int) gpu.StepBatch {
		return work(gpu.RowWork{Start: 6, Count: 1, Sample: samples, Mask: gpu.Allow(make([]uint32, words))})
	}
	nan := float32(0)
	nan /= nan
	cases := []struct {
		name string
		step gpu.StepBatch
		want string
	}{
		{"closed, not open", gpu.StepBatch{Closed: []gpu.Row{1}}, "row 1 cannot be closed: it is not open"},
		{"closed, outside", gpu.StepBatch{Closed: []gpu.Row{4}}, "row 4 cannot be closed: there are only rows 0 to 3"},
		{"closed, negative", gpu.StepBatch{Closed: []gpu.Row{-1}}, "row -1"},
		{"opened twice", gpu.StepBatch{Opened: opened(nil)}, "row 0 cannot be opened: it is already open"},
		{"opened outside", open(func(o *gpu.RowOpened) { o.Row = 99 }), "row 99 cannot be opened"},
		{"no prompt", open(func(o *gpu.RowOpened) { o.Prompt = nil }), "the prompt is empty"},
		{"token outside", open(func(o *gpu.RowOpened) { o.Prompt[3] = 50 }), "token 50 (at index 3)"},
		{"output token negative", open(func(o *gpu.RowOpened) { o.Output = []int32{-1} }), "token -1"},
		{"beyond the context", open(func(o *gpu.RowOpened) { o.Prompt = make([]int32, 61) }), "has 61 tokens; the context is 60"},
		{"cached whole", open(func(o *gpu.RowOpened) { o.Pages = []int32{1, 2} }), "row 1: the cached prefix has 8 tokens and the request 6; nothing is left to compute"},
		{"page 0", open(func(o *gpu.RowOpened) { o.Pages = []int32{0} }), "row 1: page 0 is out of range (1 to 100)"},
		{"score of the first token", open(func(o *gpu.RowOpened) { o.Score = gpu.ScoreSpec{To: 3} }), "log probabilities of positions 0 to 2"},
		{"score of no token", open(func(o *gpu.RowOpened) { o.Score = gpu.ScoreSpec{From: 3, To: 7} }), "but the request has 6 tokens"},
		{"score of few", open(func(o *gpu.RowOpened) { o.Score = gpu.ScoreSpec{Top: -1} }), "top -1"},
		{"temperature", sampling(func(s *gpu.Sampling) { s.Temperature = nan }), "row 1: sampling: temperature is NaN"},
		{"top-p", sampling(func(s *gpu.Sampling) { s.TopP = -1 }), "top_p"},
		{"min-p", sampling(func(s *gpu.Sampling) { s.MinP = 2 }), "min_p"},
		{"top-k", sampling(func(s *gpu.Sampling) { s.TopK = -1 }), "top_k"},
		{"repetition", sampling(func(s *gpu.Sampling) { s.RepetitionPenalty = 0 }), "repetition_penalty"},
		{"penalty", sampling(func(s *gpu.Sampling) { s.PresencePenalty = nan }), "not a number"},
		{"bias", sampling(func(s *gpu.Sampling) { s.Bias = []gpu.TokenBias{{Token: 50}} }), "the bias of token 50 is 0"},
		{"end tokens", sampling(func(s *gpu.Sampling) { s.EndTokens = []int32{-1} }), "end token -1"},
		{"page outside", gpu.StepBatch{Grown: []gpu.RowGrown{{Pages: []int32{101}}}}, "page 101"},
		{"grown, not open", gpu.StepBatch{Grown: []gpu.RowGrown{{Row: 2, Pages: []int32{3}}}}, "row 2 cannot be grown: it is not open"},
		{"replaced beyond", gpu.StepBatch{Replaced: []gpu.RowReplaced{{First: 1, Pages: []int32{3, 4}}}}, "2 pages are replaced from index 1 on"},
		{"replaced before", gpu.StepBatch{Replaced: []gpu.RowReplaced{{First: -1, Pages: []int32{3}}}}, "from index -1 on"},
		{"replaced by page 0", gpu.StepBatch{Replaced: []gpu.RowReplaced{{Pages: []int32{0}}}}, "page 0"},
		{"work, not open", work(gpu.RowWork{Row: 2, Count: 1}), "row 2 cannot be used: it is not open"},
		{"work twice", work(next, next), "row 0 appears twice in the step"},
		{"work of nothing", work(gpu.RowWork{Start: 6}), "row 0 has 0 tokens to compute"},
		{"work without end", work(gpu.RowWork{Start: 6, Count: 1 << 62}), "has 4611686018427387904 tokens to compute, but 7 are known"},
		{"a gap", work(gpu.RowWork{Start: 7, Count: 1}), "has the KV of the first 6"},
		{"again", work(gpu.RowWork{Start: 5, Count: 1}), "has the KV of the first 6"},
		{"unknown tokens", work(gpu.RowWork{Start: 6, Count: 2}), "but 7 tokens are known"},
		{"more samples than pages", work(gpu.RowWork{Start: 6, Count: 1, Sample: 3}), "has positions 6 to 8 to compute, but its 2 pages hold 8"},
		{"samples without end", work(gpu.RowWork{Start: 6, Count: 1, Sample: 1 << 62}), "has 4611686018427387904 tokens to sample"},
		{"samples of less than none", work(gpu.RowWork{Start: 6, Count: 1, Sample: -1}), "has -1 tokens to sample; it must be between 0"},
		{"a mask too short", masked(1, 1), "has a mask of 1 words; a vocabulary of 50 needs 2"},
		{"a mask for two", masked(2, 2), "has a mask for one token, but samples 2"},
		{"certain tokens, none sampled", work(gpu.RowWork{Start: 6, Count: 2, Forced: []int32{1}}), "has 1 certain tokens, but samples none"},
		{"certain tokens only", work(gpu.RowWork{Start: 6, Count: 1, Sample: 1, Forced: []int32{1}}), "samples after position 6, but has 8 tokens"},
		{"certain tokens outside", work(gpu.RowWork{Start: 6, Count: 2, Sample: 1, Forced: []int32{50}}), "has the certain token 50, which is outside"},
		{"a mask for none", masked(2, 0), "has a mask for one token, but samples 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table := New(program, small)
			must(t, table, first(), 3)
			if _, err := table.Run(&c.step, answer(3)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			// What a failed step left is in between: nothing runs on it.
			again := gpu.StepBatch{Work: []gpu.RowWork{next}}
			if _, err := table.Run(&again, answer(3)); err == nil || !strings.Contains(err.Error(), "were not reset") {
				t.Fatalf("after the failure: %v", err)
			}
			reset := first()
			reset.Reset = true
			must(t, table, reset, 3)
		})
	}
}

func must(t *testing.T, table *Table, b *gpu.StepBatch, token int32) *gpu.StepResult {
	t.Helper()
	r, err := table.Run(b, answer(token))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLimitsOfAStep(t *testing.T) {
	spec := small
	spec.StepTokens = 7
	table := New(program, spec)
	b := &gpu.StepBatch{}
	for row := range gpu.Row(4) {
		b.Opened = append(b.Opened, opened(func(o *gpu.RowOpened) { o.Row = row })...)
		b.Grown = append(b.Grown, gpu.RowGrown{Row: row, Pages: []int32{int32(row) + 2}})
		b.Work = append(b.Work, gpu.RowWork{Row: row, Start: 4, Count: 2})
	}
	if _, err := table.Run(b, answer(1)); err == nil || !strings.Contains(err.Error(), "row 3: the step computes more than the 7 tokens") {
		t.Errorf("8 tokens of 7: %v", err)
	}
	b.Reset, b.Work = true, b.Work[:3]
	if _, err := table.Run(b, answer(1)); err != nil {
		t.Error(err)
	}
}

// What a device says wrong, or that it panics, leaves the table failed.
func TestAStepThatDoesNotEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, compute := range map[string]func([]Sequence) error{
		"broken":            func([]Sequence) error { return broken },
		"sampled 0 tokens":  func([]Sequence) error { return nil },
		"sampled 2 tokens":  func(s []Sequence) error { s[0].Result.Tokens = []int32{1, 2}; return nil },
		"a panic, no error": func([]Sequence) error { panic("injected") },
	} {
		table := New(program, small)
		func() {
			defer func() { _ = recover() }()
			if _, err := table.Run(first(), compute); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if _, err := table.Run(&gpu.StepBatch{}, answer(1)); err == nil {
			t.Errorf("%s: a step runs after it", name)
		}
		if _, err := table.Run(&gpu.StepBatch{Reset: true}, answer(1)); err != nil {
			t.Errorf("%s: after a reset: %v", name, err)
		}
	}
}

// A device that speculates returns several tokens; the KV of all but the last is stored,
// and the next work continues after them.
func TestSeveralTokens(t *testing.T) {
	table := New(program, small)
	b := first()
	b.Opened[0].Sampling.FrequencyPenalty = 1
	b.Work[0].Sample = 3
	several := func(s []Sequence) error {
		s[0].Result.Tokens = append(s[0].Result.Tokens, 7, 8, 8)
		return nil
	}
	if r, err := table.Run(b, several); err != nil || len(r.Rows[0].Tokens) != 3 {
		t.Fatal(r, err)
	}
	seen := false
	_, err := table.Run(&gpu.StepBatch{Grown: []gpu.RowGrown{{Pages: []int32{3}}}, Work: []gpu.RowWork{{Start: 8, Count: 1, Sample: 1}}}, func(s []Sequence) error {
		seen = s[0].Tokens[0] == 8 && s[0].Sample.Position == 9 && len(s[0].Sample.History) == 2 && s[0].Sample.History[1] == TokenCount{Token: 8, Output: 2}
		return answer(1)(s)
	})
	if err != nil || !seen {
		t.Errorf("the step after three tokens is another one; %v", err)
	}
}

// A row that got no token computes nothing more, and its work says why.
func TestARowThatFailed(t *testing.T) {
	table := New(program, small)
	failed := func(s []Sequence) error { s[0].Result.Err = gpu.ErrNothingToSample; return nil }
	if r, err := table.Run(first(), failed); err != nil || r.Rows[0].Err != gpu.ErrNothingToSample {
		t.Fatal(r, err)
	}
	next := &gpu.StepBatch{Work: []gpu.RowWork{{Start: 6, Count: 1, Sample: 1}}}
	r, err := table.Run(next, func(s []Sequence) error {
		if len(s) > 0 {
			t.Errorf("%d sequences are computed", len(s))
		}
		return nil
	})
	if err != nil || r.Rows[0].Err != gpu.ErrNothingToSample {
		t.Fatal(r, err)
	}
	b := first()
	b.Closed = []gpu.Row{0}
	if r := must(t, table, b, 9); r.Rows[0].Err != nil || r.Rows[0].Tokens[0] != 9 {
		t.Errorf("opened again: %+v", r.Rows[0])
	}
}

// A decode step allocates nothing, whatever the penalties.
func TestStepsAllocateNothing(t *testing.T) {
	const context = 8000
	spec := gpu.PoolSpec{PageSize: 4, Pages: context / 4, Rows: 1, Context: context, StepTokens: 8}
	table := New(&gpu.Program{Vocab: 50, Context: context}, spec)
	b := &gpu.StepBatch{Opened: []gpu.RowOpened{{Prompt: []int32{1}, Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, FrequencyPenalty: 1, MinTokens: 99, EndTokens: []int32{3}}}},
		Grown: []gpu.RowGrown{{}}, Work: []gpu.RowWork{{Count: 1, Sample: 1}}}
	for p := range int32(context / 4) {
		b.Grown[0].Pages = append(b.Grown[0].Pages, p+1)
	}
	compute := answer(7)
	run := func() {
		if _, err := table.Run(b, compute); err != nil {
			t.Fatal(err)
		}
		b.Opened, b.Grown = nil, nil
		b.Work[0].Start++
	}
	for range 3000 { // lets the row's slices grow to their size
		run()
	}
	if n := testing.AllocsPerRun(500, run); n > 0 {
		t.Errorf("%g allocations a step, want none", n)
	}
}
