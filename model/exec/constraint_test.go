package exec_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/model/grammar/store"
	tokens "github.com/troupe-engine/troupe/model/grammar/vocab"
)

// In the vocabulary of these tests token 0 is "a", 1 is "b", 2 is "aa", and 49 ends an output.
const end = 49

func letters(t testing.TB) *store.Store {
	t.Helper()
	all := tokens.Tokens{Bytes: make([][]byte, vocab), End: []int32{end}}
	for id, text := range []string{"a", "b", "aa"} {
		all.Bytes[id] = []byte(text)
	}
	v, err := tokens.New(all)
	if err != nil {
		t.Fatal(err)
	}
	return store.New(v, store.Options{})
}

// scripted answers with the next token of a script, once the row's mask is ready, and notes
// what the mask allows and how the row is sampled.
type scripted struct {
	t       *testing.T
	script  []int32 // -1: the row is late
	allowed [][]int32
	errs    []error
	opened  []gpu.RowOpened
}

func (s *scripted) answer(b *gpu.StepBatch) (*gpu.StepResult, error) {
	s.opened = append(s.opened, b.Opened...)
	r := &gpu.StepResult{Rows: make([]gpu.RowResult, len(b.Work))}
	if b.Work[0].Sample == 0 {
		return r, nil
	}
	bits, err := ready(s.t, b.Work[0].Mask)
	var allowed []int32
	for id := range int32(vocab) {
		if bits != nil && tokens.Allowed(bits, id) {
			allowed = append(allowed, id)
		}
	}
	s.allowed, s.errs = append(s.allowed, allowed), append(s.errs, err)
	token := s.script[0]
	s.script = s.script[1:]
	switch {
	case err != nil:
		r.Rows[0].Err = err
	case token < 0:
		r.Rows[0].Late = true
	default:
		r.Rows[0].Tokens = []int32{token}
	}
	return r, nil
}

// ready waits for a mask.
func ready(t *testing.T, m gpu.Mask) ([]uint32, error) {
	t.Helper()
	if m == nil {
		t.Fatal("a row with a grammar samples without a mask")
	}
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if bits, err, is := m.Bits(); is {
			return bits, err
		}
		if time.Now().After(deadline) {
			t.Fatal("a mask was never made")
		}
	}
}

// run opens a row of a request and samples until the script ends. It returns the last answer.
func (s *scripted) run(e *exec.Executor, r *messages.EngineRequest, output []int32) *messages.BatchDone {
	s.t.Helper()
	d := &driver{t: s.t, e: e}
	b := &messages.RunBatch{Opened: []messages.RowOpened{{Request: r, Output: output}}}
	var done *messages.BatchDone
	for len(s.script) > 0 {
		b.Work = []messages.RowWork{{Count: 1, Sample: 1}}
		done = d.must(b)
		b = &messages.RunBatch{}
	}
	return done
}

func constrained(text string, change func(*messages.SamplingParams)) *messages.EngineRequest {
	return &messages.EngineRequest{ID: 9, Prompt: []int32{1}, Params: params(func(p *messages.SamplingParams) {
		p.Grammar, p.EOSTokenIDs = &messages.Grammar{Kind: "regex", Text: text}, []int32{end}
		if change != nil {
			change(p)
		}
	})}
}

// Each token is drawn under the mask of what was sampled before it, also in a row that was
// retracted. Where the text ends, an end token is allowed whatever min_tokens, ignore_eos and
// stop_token_ids say, and elsewhere they are kept.
func TestMasksFollowTheOutput(t *testing.T) {
	for name, c := range map[string]struct {
		request *messages.EngineRequest
		output  []int32
		script  []int32
		allowed [][]int32
	}{
		"from the start":   {constrained("a{1,3}b?", nil), nil, []int32{0, 2, 1}, [][]int32{{0, 2}, {0, 1, 2, end}, {1, end}}},
		"after retraction": {constrained("a{1,3}b?", nil), []int32{0, 0}, []int32{0, 1}, [][]int32{{0, 1, end}, {1, end}}},
		"a late row":       {constrained("a{1,3}b?", nil), nil, []int32{-1, 0, -1, -1, 1}, [][]int32{{0, 2}, {0, 2}, {0, 1, 2, end}, {0, 1, 2, end}, {0, 1, 2, end}}},
		"min_tokens": {constrained("a{1,3}b?", func(p *messages.SamplingParams) { p.MinTokens = 2 }),
			nil, []int32{0, 0, 0}, [][]int32{{0, 2}, {0, 1, 2}, {0, 1, end}}},
		"min_tokens beyond the text": {constrained("a{1,3}", func(p *messages.SamplingParams) { p.MinTokens = 20 }),
			nil, []int32{0, 2, end}, [][]int32{{0, 2}, {0, 2}, {end}}},
		"min_tokens and stop tokens": {constrained("[ab]{3}", func(p *messages.SamplingParams) { p.MinTokens, p.StopTokenIDs = 2, []int32{1, 77} }),
			nil, []int32{0, 0, 1}, [][]int32{{0, 2}, {0, 2}, {0, 1}}},
		"stop tokens where nothing else is left": {constrained("ab", func(p *messages.SamplingParams) { p.MinTokens, p.StopTokenIDs = 2, []int32{1} }),
			nil, []int32{0, 1}, [][]int32{{0}, {1}}},
		"ignore_eos": {constrained("a{1,3}", func(p *messages.SamplingParams) { p.IgnoreEOS = true }),
			nil, []int32{0, 2, end}, [][]int32{{0, 2}, {0, 2}, {end}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{t: t, script: c.script}
			done := s.run(exec.New(&recorder{answer: s.answer}, exec.Options{Vocab: vocab, Grammars: letters(t)}), c.request, c.output)
			if len(s.allowed) != len(c.allowed) || !slices.EqualFunc(s.allowed, c.allowed, slices.Equal[[]int32]) {
				t.Errorf("the masks allow %v, want %v", s.allowed, c.allowed)
			}
			if last := c.script[len(c.script)-1]; len(done.Sampled) != 1 || done.Sampled[0].Token != last || len(done.Late) > 0 {
				t.Errorf("the last step brought %+v", done)
			}
			if s.opened[0].Sampling.MinTokens != 0 || len(s.opened[0].Sampling.EndTokens) > 0 {
				t.Errorf("the device masks end tokens as well: %+v", s.opened[0].Sampling)
			}
		})
	}
}

func TestLateRowsAreReported(t *testing.T) {
	s := &scripted{t: t, script: []int32{-1}}
	done := s.run(exec.New(&recorder{answer: s.answer}, exec.Options{Vocab: vocab, Grammars: letters(t)}), constrained("a", nil), nil)
	if !slices.Equal(done.Late, []messages.Row{0}) || len(done.Sampled)+len(done.Failed) > 0 {
		t.Errorf("got %+v", done)
	}
}

// A mask that cannot be made fails its row alone, with a reason that has nothing of the client's.
func TestMasksThatCannotBeMade(t *testing.T) {
	for name, c := range map[string]struct {
		grammars *store.Store
		request  *messages.EngineRequest
		want     string
		end      messages.EndReason
	}{
		"no token goes on": {letters(t), constrained("cat", nil), "no token of the model's vocabulary", messages.EndGrammar},
		"no grammars":      {nil, constrained("a", nil), "this engine has no grammars", messages.EndInternal},
		"a kind that the edge must have refused": {letters(t), &messages.EngineRequest{ID: 9, Prompt: []int32{1}, Params: params(func(p *messages.SamplingParams) {
			p.Grammar = &messages.Grammar{Kind: "cat"}
		})}, "bug in the server", messages.EndInternal},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{t: t, script: []int32{0}}
			done := s.run(exec.New(&recorder{answer: s.answer}, exec.Options{Vocab: vocab, Grammars: c.grammars}), c.request, nil)
			if len(done.Failed) != 1 || done.Failed[0].End != c.end || !strings.Contains(done.Failed[0].Reason, c.want) || strings.Contains(done.Failed[0].Reason, "cat") {
				t.Errorf("got %+v", done)
			}
		})
	}
}

// What a row of the epoch before left behind does not reach the next one.
func TestConstraintsEndWithTheirEpoch(t *testing.T) {
	s := &scripted{t: t, script: []int32{0}}
	m := &recorder{answer: s.answer}
	e := exec.New(m, exec.Options{Vocab: vocab, Grammars: letters(t)})
	s.run(e, constrained("a", nil), nil)
	e.Reset(nil)
	m.answer = func(b *gpu.StepBatch) (*gpu.StepResult, error) {
		if b.Work[0].Mask != nil {
			t.Error("a row without a grammar has a mask")
		}
		return constant(5)(b)
	}
	d := &driver{t: t, e: e}
	d.must(&messages.RunBatch{Opened: opened(nil), Work: []messages.RowWork{{Start: 4, Count: 2, Sample: 1}}})
}
