package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/messages"
)

// stepModel records its steps.
type stepModel struct {
	gpu.Model
	pool    gpu.PoolSpec
	batches []gpu.StepBatch
	fail    error
}

func (m *stepModel) NewPool(s gpu.PoolSpec) error { m.pool = s; return nil }

func (m *stepModel) Submit(b *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	kept := *b
	kept.Work = slices.Clone(b.Work)
	m.batches = append(m.batches, kept)
	done(&gpu.StepResult{Rows: make([]gpu.RowResult, len(b.Work))}, m.fail)
}

func steps(t *testing.T, m gpu.Model, tests ...Test) *Steps {
	t.Helper()
	s, err := NewSteps(m, StepOptions{Program: &gpu.Program{Vocab: 50, Context: 64}, Pool: gpu.PoolSpec{PageSize: 4}, Chunk: 8, Seed: 1, Tests: tests})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStepsOfAPrompt(t *testing.T) {
	m, test := &stepModel{}, Test{Prompt: 20, Batch: 1, Depth: 10}
	s := steps(t, m, test, Test{Generate: 3, Batch: 2})
	if m.pool.Pages != 8+1 || m.pool.PageSize != 4 || m.pool.Rows != 2 || m.pool.StepTokens != 8 || m.pool.Context != 64 { // 30 positions, and 3
		t.Errorf("a pool of %+v", m.pool)
	}
	if err := s.Prepare(t.Context(), test); err != nil {
		t.Fatal(err)
	}
	if len(m.batches) != 2 || m.batches[0].Work[0].Sample != 0 || m.batches[1].Work[0].Start != 8 {
		t.Fatalf("prepared by %+v", m.batches)
	}
	m.batches = nil
	first, err := s.Once(t.Context(), test, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The row is opened again after the base's two whole pages, and the other two
	// positions are computed again. Then 8, 8 and 4 tokens, which read 18, 26 and
	// 30 positions.
	if first.Steps != 3 || first.Tokens != 20 || first.Positions != 74 || len(m.batches) != 4 {
		t.Errorf("%+v in %d steps", first, len(m.batches))
	}
	again := m.batches[0]
	if len(again.Closed) != 1 || len(again.Opened[0].Pages) != 2 || len(again.Opened[0].Prompt) != 30 || plain(again.Work[0]) != (plainWork{0, 8, 2, 0}) {
		t.Errorf("the base is computed again by %+v", again)
	}
	if plain(m.batches[1].Work[0]) != (plainWork{0, 10, 8, 0}) || plain(m.batches[2].Work[0]) != (plainWork{0, 18, 8, 0}) || plain(m.batches[3].Work[0]) != (plainWork{0, 26, 4, 1}) {
		t.Errorf("the steps are %+v", m.batches[1:])
	}
	if err := s.Prepare(t.Context(), test); err != nil || len(m.batches) != 4 {
		t.Errorf("what is in the cache was computed again: %v", err)
	}
	before := m.batches[0].Opened[0].Prompt
	m.batches = nil
	if _, err := s.Once(t.Context(), test, 1); err != nil || slices.Equal(before[10:], m.batches[0].Opened[0].Prompt[10:]) || !slices.Equal(before[:10], m.batches[0].Opened[0].Prompt[:10]) {
		t.Errorf("two repetitions have one prompt, or other bases: %v", err)
	}
}

// plainWork is the fields of a gpu.RowWork that == can compare.
type plainWork struct {
	row                  gpu.Row
	start, count, sample int
}

func plain(w gpu.RowWork) plainWork { return plainWork{w.Row, w.Start, w.Count, w.Sample} }

func TestStepsThatGenerate(t *testing.T) {
	m, test := &stepModel{}, Test{Generate: 3, Batch: 2, Depth: 5}
	s := steps(t, m, test)
	if err := s.Prepare(t.Context(), test); err != nil || len(m.batches) != 2 {
		t.Fatal(err, m.batches)
	}
	m.batches = nil
	got, err := s.Once(t.Context(), test, 0)
	// The first step reads 6 positions of both sequences, the last one 8.
	if err != nil || got.Tokens != 6 || got.Steps != 3 || got.Positions != 2*(6+7+8) || len(m.batches) != 4 {
		t.Fatalf("%+v in %d steps, %v", got, len(m.batches), err)
	}
	opened := m.batches[0].Opened
	if len(opened) != 2 || len(opened[0].Prompt) != 6 || plain(m.batches[0].Work[1]) != (plainWork{1, 4, 1, 0}) {
		t.Errorf("the rows are opened by %+v", m.batches[0])
	}
	if grown := m.batches[0].Grown; slices.Equal(append(opened[0].Pages, grown[0].Pages...), append(opened[1].Pages, grown[1].Pages...)) {
		t.Error("two sequences share pages")
	}
	for i, b := range m.batches[1:] {
		for j, w := range b.Work {
			if plain(w) != (plainWork{gpu.Row(j), 5 + i, 1, 1}) {
				t.Errorf("step %d: %+v", i, w)
			}
		}
	}
}

func TestStepsThatFail(t *testing.T) {
	m, test := &stepModel{}, Test{Prompt: 20, Batch: 1}
	s := steps(t, m, test)
	m.fail = errors.New("out of order")
	if _, err := s.Once(t.Context(), test, 0); !errors.Is(err, m.fail) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Once(ctx, test, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := NewSteps(m, StepOptions{Program: &gpu.Program{Vocab: 50, Context: 19}, Pool: gpu.PoolSpec{PageSize: 4}, Tests: []Test{test}}); err == nil || !strings.Contains(err.Error(), "test pp20 requires a context of 20 tokens, but the model has 19") {
		t.Error(err)
	}
}

// answering plays the engine: prompts that were computed are cached, and every
// sequence of a call gets a token in turn.
type answering struct {
	t      *testing.T
	cached int // tokens found of any prompt after the first
	calls  []*messages.SubmitRequests
	late   int // rounds by which sequence 1 begins late
	refuse string
	drops  int
}

func (a *answering) send(m messages.ToIntake) {
	switch m := m.(type) {
	case *messages.DropCall:
		a.drops++
	case *messages.SubmitRequests:
		a.calls = append(a.calls, m)
		go a.answer(m, len(a.calls) > 1)
	}
}

func (a *answering) answer(m *messages.SubmitRequests, cached bool) {
	if a.refuse != "" {
		m.Events <- &messages.CallRefused{Call: m.Call, Message: a.refuse}
		return
	}
	m.Events <- &messages.CallAccepted{Call: m.Call}
	for round := 0; ; round++ {
		busy := false
		for i, r := range m.Requests {
			n := round // tokens before
			if i == 1 {
				n -= a.late
			}
			if n >= r.Params.MaxTokens {
				continue
			}
			busy = true
			if n < 0 {
				continue
			}
			out := &messages.CallOutput{Call: m.Call, Index: i, Tokens: make([]messages.OutputToken, 1)}
			if n == r.Params.MaxTokens-1 {
				out.Finish = &messages.Finish{Reason: messages.FinishLength}
				out.Usage = messages.Usage{PromptTokens: len(r.Prompt)}
				if cached {
					out.Usage.CachedTokens = a.cached
				}
			}
			m.Events <- out
		}
		if !busy {
			return
		}
	}
}

func (a *answering) engine() *Engine {
	return NewEngine(EngineOptions{Send: a.send, Vocab: 50, Seed: 1, Chunk: 16, PageSize: 4})
}

func TestEngineComputesAPromptBehindItsBase(t *testing.T) {
	a, test := &answering{t: t, cached: 8}, Test{Prompt: 20, Batch: 1, Depth: 10}
	e := a.engine()
	if err := e.Prepare(t.Context(), test); err != nil {
		t.Fatal(err)
	}
	s, err := e.Once(t.Context(), test, 0)
	// Of 30 tokens 8 were cached: 16 and 6, which read 24 and 30 positions.
	if err != nil || s.Tokens != 22 || s.Steps != 2 || s.Positions != 54 {
		t.Fatalf("%+v, %v", s, err)
	}
	base, whole := a.calls[0].Requests[0].Prompt, a.calls[2].Requests[0]
	if len(base) != 10 || !slices.Equal(base, whole.Prompt[:10]) || len(whole.Prompt) != 30 {
		t.Errorf("base %v, prompt %v", base, whole.Prompt)
	}
	if p := whole.Params; p.MaxTokens != 1 || !p.IgnoreEOS || p.Temperature != 0 {
		t.Errorf("%+v", p)
	}
	a.cached = 0
	if _, err := e.Once(t.Context(), test, 1); err == nil || !strings.Contains(err.Error(), "the prefix cache is too small for 10") {
		t.Error(err)
	}
}

func TestEngineCountsFromWhenAllHaveBegun(t *testing.T) {
	a, test := &answering{t: t, late: 3}, Test{Generate: 10, Batch: 2}
	e := a.engine()
	s, err := e.Once(t.Context(), test, 0)
	if err != nil || s.Tokens != 20 || s.Steps != 10 {
		t.Fatalf("%+v, %v", s, err)
	}
	// 5 tokens before, 2 for each sequence: the first step feeds the second one.
	if s.Positions != Decoded(1+2-1, 10, 2) {
		t.Errorf("%d positions", s.Positions)
	}
	if got := a.calls[0].Requests; len(got) != 2 || len(got[0].Prompt) != 1 || got[0].Params.MaxTokens != 18 || a.drops != 0 {
		t.Errorf("%+v, %d drops", got, a.drops)
	}
}

func TestEngineErrors(t *testing.T) {
	a := &answering{t: t, late: 100}
	if _, err := a.engine().Once(t.Context(), Test{Generate: 10, Batch: 2}, 0); err == nil || !strings.Contains(err.Error(), "did not all run at the same time") {
		t.Error(err)
	}
	a = &answering{t: t, refuse: "the prompt is too long"}
	if _, err := a.engine().Once(t.Context(), Test{Prompt: 10, Batch: 1}, 0); err == nil || err.Error() != "the prompt is too long" {
		t.Error(err)
	}
	fatal := make(chan error, 1)
	fatal <- errors.New("no device")
	e := NewEngine(EngineOptions{Send: func(messages.ToIntake) {}, Fatal: fatal, Vocab: 50, Chunk: 16, PageSize: 4})
	if _, err := e.Once(t.Context(), Test{Prompt: 10, Batch: 1}, 0); err == nil || err.Error() != "no device" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	drops := 0
	e = NewEngine(EngineOptions{Send: func(m messages.ToIntake) {
		if _, ok := m.(*messages.DropCall); ok {
			drops++
		}
	}, Vocab: 50, Chunk: 16, PageSize: 4})
	if _, err := e.Once(ctx, Test{Generate: 10, Batch: 1}, 0); !errors.Is(err, context.Canceled) || drops != 1 {
		t.Error(err, drops)
	}
}

func TestMemoryIsRead(t *testing.T) {
	for _, l := range simd.Levels() {
		m, err := NewMemory(3<<20+5, l)
		if err != nil {
			t.Fatal(err)
		}
		if m.Size() != 3<<20 || m.Bytes()[len(m.Bytes())-1] != 1 || m.Level() != l {
			t.Errorf("%d bytes, the last one %d", m.Size(), m.Bytes()[len(m.Bytes())-1])
		}
		if b := m.Bandwidth(2); b <= 0 {
			t.Errorf("%v bytes/s at %s", b, l)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewMemory(readChunk-1, simd.Best()); err == nil || !strings.Contains(err.Error(), "between 524288 and") {
		t.Error(err)
	}
}
