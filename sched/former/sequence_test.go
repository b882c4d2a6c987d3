package former

import (
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

func sequenceOf(id messages.RequestID, prompt, output int, change func(*messages.EngineRequest)) *sequence {
	r := &messages.EngineRequest{ID: id, Prompt: make([]int32, prompt, prompt+5), Params: &messages.SamplingParams{
		MaxTokens: 100, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}
	if change != nil {
		change(r)
	}
	s := newSequence(r)
	s.tokens = append(s.tokens, make([]int32, output)...)
	return s
}

func TestMatchLimit(t *testing.T) {
	logprobs := func(start int) func(*messages.EngineRequest) {
		return func(r *messages.EngineRequest) { r.Params.PromptLogprobs, r.Params.PromptLogprobStart = 0, start }
	}
	for _, c := range []struct {
		name string
		s    *sequence
		want int
	}{
		{"one token must be computed", sequenceOf(1, 10, 0, nil), 9},
		{"output can be matched, too", sequenceOf(1, 10, 3, nil), 12},
		{"position 4 is scored by position 3", sequenceOf(1, 10, 0, logprobs(4)), 3},
		{"everything is scored", sequenceOf(1, 10, 0, logprobs(0)), 0},
		{"position 1 is scored by position 0", sequenceOf(1, 10, 0, logprobs(1)), 0},
		{"nothing is scored", sequenceOf(1, 10, 0, logprobs(12)), 9},
		{"an earlier submission reported it", sequenceOf(1, 10, 0, func(r *messages.EngineRequest) {
			logprobs(4)(r)
			r.Output = []int32{1, 2}
		}), 11},
	} {
		if got := c.s.matchLimit(); got != c.want {
			t.Errorf("%s: limit %d, want %d", c.name, got, c.want)
		}
	}
	s := sequenceOf(1, 10, 1, logprobs(4))
	s.reported = true
	if got := s.matchLimit(); got != 10 {
		t.Errorf("after a retraction: limit %d, want 10", got)
	}
}

func TestExpectedOutput(t *testing.T) {
	for _, c := range []struct {
		prompt, output, max, context int
		ratio                        float64
		want, pages                  int // of 4
	}{
		{10, 0, 100, 1000, 0.7, 70, 20}, // 79 of 80 tokens have KV
		{10, 0, 100, 1000, 0, 1, 3},
		{10, 0, 100, 20, 1, 10, 5},
		{10, 90, 100, 1000, 1, 10, 28},
		{10, 0, 100_000, 1_000_000, 0.5, 2048, 515}, // what is expected of one request is bounded
		{10, 0, 100_000, 1_000_000, 1, 4096, 1027},
	} {
		s := sequenceOf(1, c.prompt, c.output, func(r *messages.EngineRequest) { r.Params.MaxTokens = c.max })
		got := s.expected(c.ratio, c.context)
		if got != c.want || s.pagesAfter(got, 4) != c.pages {
			t.Errorf("%+v: expected %d tokens on %d pages", c, got, s.pagesAfter(got, 4))
		}
	}
}

// A request's own prompt is never appended to.
func TestPromptStaysFrozen(t *testing.T) {
	s := sequenceOf(1, 3, 0, nil)
	beyond := s.req.Prompt[:4]
	s.take(7, 100)
	if beyond[3] != 0 {
		t.Error("a sampled token was written behind the prompt")
	}
}

func TestMissingAhead(t *testing.T) {
	f := New(options(nil))
	add := func(output, left, pages int, state seqState) {
		s := sequenceOf(1, 4, output, func(r *messages.EngineRequest) { r.Params.MaxTokens = output + left })
		s.state, s.lease.Pages = state, make([]messages.Page, pages)
		f.batch.running = append(f.batch.running, s)
	}
	add(4, 50, 2, decoding) // 8 tokens, 19 more with KV: 27 on 7 pages
	add(4, 1, 2, decoding)  // the last token needs none
	add(0, 50, 1, prefilling)
	if got := f.missing(20); got != 5 {
		t.Errorf("20 steps need %d pages, want 5", got)
	}
	if got := f.missing(1); got != 0 {
		t.Errorf("1 step needs %d pages, want 0", got)
	}
}

func TestChunk(t *testing.T) {
	for _, c := range []struct {
		name                         string
		computed, rest, left, budget int
		want                         int
	}{
		{"the rest fits", 4, 3, 8, 8, 3},
		{"ends with a page", 0, 30, 7, 7, 4},
		{"a budget below a page is used", 0, 30, 3, 3, 3},
		{"most of a budget is used", 0, 30, 3, 5, 3},
		{"less than half of it is left", 0, 30, 3, 8, 0},
		{"from within a page to its end", 2, 30, 7, 8, 6},
		{"within a page", 1, 30, 2, 8, 0},
		{"nothing left", 0, 30, 0, 8, 0},
	} {
		s := sequenceOf(1, c.computed+c.rest, 0, nil)
		s.scheduled = c.computed
		if got := chunk(s, c.left, c.budget, 4); got != c.want {
			t.Errorf("%s: %d tokens, want %d", c.name, got, c.want)
		}
	}
}

// The numbers are those of SGLang's test of a mixed chunk.
func TestPrefillBudget(t *testing.T) {
	for _, c := range []struct{ prefill, chunk, decoding, want int }{
		{200, 64, 8, 56},
		{200, 64, 5, 59},
		{200, -1, 8, 192},
		{200, 64, 64, 4}, // never less than a page
		{200, 2, 64, 2},
		{60, 64, 8, 52},
	} {
		f := New(options(func(o *Options) { o.MaxPrefillTokens, o.ChunkedPrefillSize = c.prefill, c.chunk }))
		if got := f.prefill.budget(c.decoding); got != c.want {
			t.Errorf("%+v: budget %d", c, got)
		}
	}
}

func TestOptionsAreValidated(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"PageSize":         func(o *Options) { o.PageSize = 3 },
		"Pages":            func(o *Options) { o.Pages = 0 },
		"MaxRunning":       func(o *Options) { o.MaxRunning = 0 },
		"ContextLength":    func(o *Options) { o.ContextLength = 1 },
		"MaxPrefillTokens": func(o *Options) { o.MaxPrefillTokens = -1 },
		"RetractEvery":     func(o *Options) { o.RetractEvery = -1 },
		"ratio":            func(o *Options) { o.InitNewTokenRatio = 2 },
		"factor":           func(o *Options) { o.MinNewTokenRatioFactor = -1 },
		"Conservativeness": func(o *Options) { o.Conservativeness = -1 },
		"target":           func(o *Options) { o.ChunkedPrefillSize, o.InterTokenLatencyTarget = 512, -1 },
		"target, no chunk": func(o *Options) { o.ChunkedPrefillSize, o.InterTokenLatencyTarget = -1, time.Second },
	} {
		o := options(change)
		if o.Validate() == nil {
			t.Errorf("%s: accepted %+v", name, o)
		}
	}
	o := options(nil)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSuspects(t *testing.T) {
	s := newScript(t, []string{"page=2", "pages=30"})
	s.play([]string{"enqueue", "3", "prompt=1*5"})
	for _, c := range []struct {
		msg  messages.ToFormer
		want int
	}{
		{&messages.BatchDone{Step: 1}, 1}, {&messages.BatchFailed{Step: 1}, 1}, {&messages.AuditSlots{}, 0},
		{&messages.FinishRequests{IDs: []messages.RequestID{4, 5, 4}}, 2},
		{&messages.CandidatesOffered{Requests: []*messages.EngineRequest{{ID: 1}, {ID: 2}}}, 2},
		{&messages.PrefixesLocked{Matches: []messages.PrefixLocked{{ID: 1}}}, 1},
		{&messages.PagesReserved{Granted: []messages.PagesGranted{{ID: 1}}, Inserted: []messages.PrefixInserted{{ID: 1}, {ID: 2}}}, 2},
		{&messages.PagesRefused{}, 0},
	} {
		if got := s.former.Suspects(c.msg); len(got) != c.want {
			t.Errorf("%T: suspects %v, want %d", c.msg, got, c.want)
		}
	}
}

// A refusal in the second round, a message out of turn and a double enqueue are
// broken invariants.
func TestImpossibleMessagesPanic(t *testing.T) {
	for name, do := range map[string]func(*script){
		"refused": func(s *script) { s.former.Step(0, &messages.PagesRefused{Plan: 1}, &s.out) },
		"reserved while resting": func(s *script) {
			s.former.Step(0, &messages.PagesReserved{Plan: s.former.plan.id}, &s.out)
		},
		"done while resting":       func(s *script) { s.former.Step(0, &messages.BatchDone{}, &s.out) },
		"offered while resting":    func(s *script) { s.former.Step(0, &messages.CandidatesOffered{}, &s.out) },
		"an audit nobody sent":     func(s *script) { s.former.Step(0, &messages.AuditSlots{}, &s.out) },
		"a request without room":   func(s *script) { s.play([]string{"enqueue", "1", "prompt=1*3", "max=0"}) },
		"a prompt beyond the pool": func(s *script) { s.play([]string{"enqueue", "1", "prompt=1*40", "max=4"}) },
		"a token too few": func(s *script) {
			s.play([]string{"enqueue", "1", "prompt=1*3"})
			s.former.Step(0, &messages.BatchDone{Step: 1}, &s.out)
		},
		"enqueued twice": func(s *script) {
			s.held[messages.Former] = true
			s.play([]string{"enqueue", "1", "prompt=1*3"})
			s.play([]string{"enqueue", "1", "prompt=1*3"})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			do(newScript(t, []string{"page=2", "pages=16"}))
		}()
	}
}
