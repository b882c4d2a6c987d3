package former

import (
	"testing"

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
