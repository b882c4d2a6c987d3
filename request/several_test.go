package request

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// A request that gets its tokens in lists, cut anywhere, has the same text, tokens with
// offsets, end and usage, and the same messages to the engine, as one that gets them one
// by one. Tokens after the end in a list are ignored.
func TestTokensInListsAreTokensOneByOne(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*messages.Submission)
		word   string // of the list; tokens after the end are not counted
		usage  int
	}{
		"eos in the middle":         {word: "abc.xyz", usage: 4},
		"stop token in the middle":  {func(s *messages.Submission) { s.Params.StopTokenIDs = ids("c") }, "abcde", 3},
		"max_tokens in the middle":  {func(s *messages.Submission) { s.Params.MaxTokens = 3 }, "abcde", 3},
		"stop string in the middle": {func(s *messages.Submission) { s.Stop = []string{"cd"} }, "abcdef", 4},
		"stop string across lists":  {func(s *messages.Submission) { s.Stop = []string{"cdef"} }, "abcdefg", 6},
		"stop string never whole":   {func(s *messages.Submission) { s.Stop = []string{"cdx"} }, "abcd.", 5},
		"min_tokens in the middle":  {func(s *messages.Submission) { s.Stop = []string{"b"}; s.Params.MinTokens = 3 }, "abcbdb", 4},
	} {
		for _, stream := range []bool{true, false} {
			s := submission()
			s.Stream = stream
			if c.change != nil {
				c.change(&s)
			}
			word := ids(c.word)
			want, one := play(t, letters(), s, word[:c.usage])
			for cut := range len(word) {
				r := newRig(t, letters())
				r.start()
				got, _ := r.submit(1, "", s)
				r.list(1, 0, word[:cut]...)
				sends := r.list(1, cut, word[cut:]...)
				got.read()
				f, w := got.finish[0], want.finish[0]
				if f == nil || w == nil || f.Finish.Reason != w.Finish.Reason || f.Finish.MatchedToken != w.Finish.MatchedToken || f.Finish.MatchedStop != w.Finish.MatchedStop || f.Usage != w.Usage {
					t.Errorf("%s, cut at %d: finish %+v, want %+v", name, cut, f, w)
					continue
				}
				if got.text[0] != want.text[0] || f.Usage.CompletionTokens != c.usage {
					t.Errorf("%s, cut at %d: text %q after %d tokens, want %q", name, cut, got.text[0], f.Usage.CompletionTokens, want.text[0])
				}
				if !slices.EqualFunc(got.tokens[0], want.tokens[0], func(a, b messages.OutputToken) bool { return a.Token == b.Token && a.TextOffset == b.TextOffset }) {
					t.Errorf("%s, cut at %d: tokens %+v, want %+v", name, cut, got.tokens[0], want.tokens[0])
				}
				// If the end is not from the engine, it is asked to release the request, once.
				if asked := len(finished(sends)); cut < c.usage && asked > 1 {
					t.Errorf("%s, cut at %d: the engine is asked %d times", name, cut, asked)
				}
				if a, b := one.table.entries[1] == nil, r.table.entries[1] == nil; a != b {
					t.Errorf("%s, cut at %d: in the table %v, want %v", name, cut, !b, !a)
				}
			}
		}
	}
}

// A row of which no token can be sampled ends its request with a clear error, and
// keeps what was there.
func TestARequestOfWhichNothingCanBeSampled(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c, _ := r.submit(1, "", submission("bcx"))
	mate, _ := r.submit(2, "", submission())
	r.tokens(1, 0, ids("abc")...)
	r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 2, Token: 0}}, Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndFailed, Why: "none is left"}}})
	c.read()
	f := c.finish[0]
	if f == nil || f.Finish.Reason != messages.FinishError || f.Finish.Kind != messages.RefusedInvalid || f.Finish.Message != "none is left" || f.Usage.CompletionTokens != 3 || c.text[0] != "abc" {
		t.Fatalf("text %q, finish %+v", c.text[0], f)
	}
	if r.table.entries[1] != nil || r.reading(messages.RequestsFailed) != 1 {
		t.Error("the request is still in the table, or no failure was counted")
	}
	r.tokens(2, 1, eos)
	if mate.read(); mate.text[0] != "a" || mate.finish[0] == nil {
		t.Errorf("its batch mate got %q", mate.text[0])
	}
}
