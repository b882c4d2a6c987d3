package request

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// play sends one request the tokens of a word and returns its client.
func play(t *testing.T, d *bytesDetok, s messages.Submission, tokens []int32) (*client, *rig) {
	t.Helper()
	r := newRig(t, d)
	r.start()
	c, _ := r.submit(1, "", s)
	r.tokens(1, 0, tokens...)
	return c.read(), r
}

func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*messages.Submission)
		word   string
		text   string
		reason messages.FinishReason
		token  int32
		stop   string
		usage  int
	}{
		"eos":                      {word: "abc.", text: "abc", reason: messages.FinishStop, token: eos, usage: 4},
		"eos kept, special hidden": {func(s *messages.Submission) { s.KeepStop = true }, "abc.", "abc", messages.FinishStop, eos, "", 4},
		"eos kept and shown":       {func(s *messages.Submission) { s.KeepStop, s.KeepSpecial = true, true }, "abc.", "abc<eos>", messages.FinishStop, eos, "", 4},
		"eos not shown":            {func(s *messages.Submission) { s.KeepSpecial = true }, "abc.", "abc", messages.FinishStop, eos, "", 4},
		"eos ignored":              {func(s *messages.Submission) { s.Params.IgnoreEOS = true; s.Params.MaxTokens = 5 }, "ab.cd", "abcd", messages.FinishLength, -1, "", 5},
		"stop token":               {func(s *messages.Submission) { s.Params.StopTokenIDs = ids("c") }, "abc", "ab", messages.FinishStop, 2, "", 3},
		"stop token kept":          {func(s *messages.Submission) { s.Params.StopTokenIDs = ids("c"); s.KeepStop = true }, "abc", "abc", messages.FinishStop, 2, "", 3},
		"length":                   {func(s *messages.Submission) { s.Params.MaxTokens = 3 }, "abc", "abc", messages.FinishLength, -1, "", 3},
		"stop string":              {func(s *messages.Submission) { s.Stop = []string{"cd"} }, "abcd", "ab", messages.FinishStop, -1, "cd", 4},
		"stop string kept":         {func(s *messages.Submission) { s.Stop = []string{"cd"}; s.KeepStop = true }, "abcd", "abcd", messages.FinishStop, -1, "cd", 4},
		"stop string at length":    {func(s *messages.Submission) { s.Stop = []string{"cd"}; s.Params.MaxTokens = 4 }, "abcd", "ab", messages.FinishStop, -1, "cd", 4},
		"held back to the end":     {func(s *messages.Submission) { s.Stop = []string{"cde"}; s.Params.MaxTokens = 4 }, "abcd", "abcd", messages.FinishLength, -1, "", 4},
		"held back to eos":         {func(s *messages.Submission) { s.Stop = []string{"cde"} }, "abcd.", "abcd", messages.FinishStop, eos, "", 5},
		"min_tokens passes stops":  {func(s *messages.Submission) { s.Stop = []string{"b"}; s.Params.MinTokens = 2 }, "abcb", "abc", messages.FinishStop, -1, "b", 4},
		"stop begins before min":   {func(s *messages.Submission) { s.Stop = []string{"bc"}; s.Params.MinTokens = 2 }, "abc", "a", messages.FinishStop, -1, "bc", 3},
		"after the end":            {func(s *messages.Submission) { s.Stop = []string{"b"} }, "abcdef", "a", messages.FinishStop, -1, "b", 2},
	} {
		for _, stream := range []bool{true, false} {
			s := submission()
			s.Stream = stream
			if c.change != nil {
				c.change(&s)
			}
			got, r := play(t, letters(), s, ids(c.word))
			end := got.finish[0]
			if end == nil {
				t.Errorf("%s: no end, text %q", name, got.text[0])
				continue
			}
			f := *end.Finish
			if got.text[0] != c.text || f.Reason != c.reason || f.MatchedToken != c.token || f.MatchedStop != c.stop || end.Usage.CompletionTokens != c.usage {
				t.Errorf("%s: %q %+v usage %+v", name, got.text[0], f, end.Usage)
			}
			if len(got.tokens[0]) != c.usage {
				t.Errorf("%s: %d tokens, want %d", name, len(got.tokens[0]), c.usage)
			}
			if !stream && len(got.outputs) != 1 {
				t.Errorf("%s: %d outputs without streaming", name, len(got.outputs))
			}
			if r.table.Open() != 1 {
				t.Errorf("%s: dropped before the engine released it", name)
			}
			if r.released(1, messages.EndCancelled); r.table.Open() != 0 {
				t.Errorf("%s: still open", name)
			}
		}
	}
}

func TestStopStringTellsTheEngine(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	r.submit(1, "", submission("b"))
	if got := finished(r.tokens(1, 0, ids("a")...)); len(got) != 0 {
		t.Fatalf("finished %v", got)
	}
	if got := finished(r.tokens(1, 1, ids("b")...)); !slices.Equal(got, []messages.RequestID{1}) {
		t.Fatalf("finished %v", got)
	}
	if got := finished(r.tokens(1, 2, ids("c")...)); len(got) != 0 {
		t.Fatalf("cancelled twice: %v", got)
	}
	// An end that the engine sees itself, and one that it has released already.
	r.submit(2, "", submission("b"))
	if got := finished(r.tokens(2, 0, eos)); len(got) != 0 {
		t.Fatalf("finished %v", got)
	}
	if got := finished(r.tokens(2, 1, 1)); !slices.Equal(got, []messages.RequestID{2}) {
		t.Fatalf("an engine that goes on was asked to release %v", got)
	}
	r.submit(3, "", submission("b"))
	sends := r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 3, Token: 1}}, Ended: []messages.RequestEnded{{ID: 3, Reason: messages.EndLength}}})
	if got := finished(sends); len(got) != 0 {
		t.Fatalf("finished %v", got)
	}
}

func TestEngineDecidesLength(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c, _ := r.submit(1, "", submission("cx"))
	r.tokens(1, 0, ids("ab")...)
	// With its last token, and on its own.
	r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 1, Position: 2, Token: 2}}, Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndLength}}})
	d, _ := r.submit(2, "", submission("cx"))
	r.tokens(2, 0, ids("abc")...)
	r.released(2, messages.EndLength)
	for _, c := range []*client{c.read(), d.read()} {
		if f := c.finish[0]; f == nil || f.Finish.Reason != messages.FinishLength || c.text[0] != "abc" {
			t.Errorf("got %q %+v", c.text[0], f)
		}
	}
	if r.table.Open() != 0 {
		t.Errorf("%d open", r.table.Open())
	}
}

func TestHeldTokensTravelWithTheirText(t *testing.T) {
	d := &bytesDetok{pieces: []string{"x", "\xc3", "\xa9", "S", "T", "y"}}
	s := submission("STOP")
	s.Params.MaxTokens = 7
	c, _ := play(t, d, s, []int32{0, 1, 2, 3, 4, 5, 1})
	type chunk struct {
		text   string
		tokens []int32
	}
	var got []chunk
	for _, o := range c.outputs {
		k := chunk{text: o.Text}
		for _, tok := range o.Tokens {
			k.tokens = append(k.tokens, tok.Token)
		}
		got = append(got, k)
	}
	want := []chunk{{"x", []int32{0}}, {"", []int32{1}}, {"é", []int32{2}}, {"STy", []int32{3, 4, 5}}, {"\uFFFD", []int32{1}}}
	if !slices.EqualFunc(got, want, func(a, b chunk) bool { return a.text == b.text && slices.Equal(a.tokens, b.tokens) }) {
		t.Fatalf("got %q, want %q", got, want)
	}
	var offsets []int
	for _, tok := range c.tokens[0] {
		offsets = append(offsets, tok.TextOffset)
	}
	if !slices.Equal(offsets, []int{0, 1, 1, 3, 4, 5, 6}) {
		t.Fatalf("offsets %v", offsets)
	}
}

func TestLogprobsAndPrompt(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c, _ := r.submit(1, "", submission())
	lp := func(tok int32) *messages.PositionLogprobs {
		return &messages.PositionLogprobs{Chosen: messages.TokenLogprob{Token: tok, Logprob: -1}}
	}
	prompt := []messages.PositionLogprobs{*lp(4)}
	r.results(messages.StepResults{Prompts: []messages.PromptResult{{ID: 1, CachedTokens: 3, Logprobs: prompt}},
		Tokens: []messages.TokenResult{{ID: 1, Token: 1, Logprobs: lp(1)}}})
	if r.reading(messages.PromptTokens) != 5 || r.reading(messages.CachedTokens) != 3 || r.reading(messages.GenerationTokens) != 1 {
		t.Errorf("readings %v", r.out.Readings)
	}
	r.results(messages.StepResults{Prompts: []messages.PromptResult{{ID: 1, CachedTokens: 5}},
		Tokens: []messages.TokenResult{{ID: 1, Position: 1, Token: eos, Logprobs: lp(eos)}}})
	c.read()
	if p := c.outputs[0].Prompt; p == nil || len(p.Logprobs) != 1 || c.outputs[1].Prompt != nil {
		t.Errorf("prompt %+v, then %+v", p, c.outputs[1].Prompt)
	}
	if u := c.finish[0].Usage; u != (messages.Usage{PromptTokens: 5, CompletionTokens: 2, CachedTokens: 3}) {
		t.Errorf("usage %+v", u)
	}
	if l := c.tokens[0][0].Logprobs; l == nil || l.Chosen.Token != 1 {
		t.Errorf("logprobs %+v", l)
	}
}

func TestLatencies(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	r.submit(1, "", submission())
	r.now += 999 * time.Millisecond
	r.tokens(1, 0, 1)
	if got := r.reading(messages.TimeToFirstToken); got != 1 {
		t.Errorf("time to first token %v", got)
	}
	r.now += 499 * time.Millisecond
	r.tokens(1, 1, eos)
	if got := r.reading(messages.InterTokenLatency); got != 0.5 {
		t.Errorf("inter-token latency %v", got)
	}
	if got := r.reading(messages.RequestLatency); got != 1.5 {
		t.Errorf("request latency %v", got)
	}
}

func TestContradictionsEndTheEpoch(t *testing.T) {
	tok := func(id messages.RequestID, pos int) messages.TokenResult {
		return messages.TokenResult{ID: id, Position: pos, Token: 1}
	}
	for want, m := range map[string]messages.StepResults{
		"step results 4: they came after message 2": {Seq: 4},
		"at position 0 belongs to request 9":        {Tokens: []messages.TokenResult{tok(9, 0)}},
		"at position 0, but has 2 tokens":           {Tokens: []messages.TokenResult{tok(1, 0)}},
		"at position 3, but has 2 tokens":           {Tokens: []messages.TokenResult{tok(1, 3)}},
		"at position 2, but has 3 tokens":           {Tokens: []messages.TokenResult{tok(1, 2), tok(1, 2)}},
		"at position 4, but has 3 tokens":           {Tokens: []messages.TokenResult{tok(1, 2), tok(1, 4)}},
		"got token 99, which is outside":            {Tokens: []messages.TokenResult{{ID: 1, Position: 2, Token: 99}}},
		"released request 1 (cancelled)":            {Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndCancelled}}},
	} {
		r := newRig(t, letters())
		r.start()
		c, _ := r.submit(1, "", submission())
		r.tokens(1, 0, ids("ab")...)
		m.Epoch = 1
		if m.Seq == 0 {
			m.Seq = 3
		}
		if got := failedEpoch(r.step(&m)); !strings.Contains(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
		// Results of this epoch are ignored; the next one continues.
		r.tokens(1, 2, ids("z")...)
		r.end()
		if reqs := r.start(); len(reqs) != 1 || !slices.Equal(reqs[0].Output, ids("ab")) {
			t.Fatalf("%q: resubmitted %v", want, reqs)
		}
		r.tokens(1, 2, ids("c.")...)
		if c.read(); c.text[0] != "abc" || c.finish[0] == nil {
			t.Errorf("%q: got %q", want, c.text[0])
		}
	}
}

func TestStaleMessagesAreIgnored(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	r.end()
	r.start()
	r.submit(1, "", submission())
	r.tokens(1, 0, 1)
	for _, m := range []messages.ToIntake{
		&messages.StepResults{Header: messages.Header{Epoch: 1}, Seq: 2, Tokens: []messages.TokenResult{{ID: 1, Position: 1}}},
		&messages.StepResults{Header: messages.Header{Epoch: 2}, Seq: 1, Tokens: []messages.TokenResult{{ID: 1, Position: 1}}}, // came before
		&messages.EpochStarted{Header: messages.Header{Epoch: 2}}, &messages.EpochStarted{Header: messages.Header{Epoch: 1}}, &messages.EpochEnded{Header: messages.Header{Epoch: 1}},
		&messages.CacheFlushed{Header: messages.Header{Epoch: 2}, Ticket: 99},
	} {
		if sends := r.step(m); len(sends) != 0 || r.reading(messages.StaleMessages) != 1 {
			t.Errorf("%T: sent %v, readings %v", m, sends, r.out.Readings)
		}
	}
	if got := r.table.entries[1].output; len(got) != 1 {
		t.Errorf("output %v", got)
	}
	sends := r.results(messages.StepResults{Ended: []messages.RequestEnded{{ID: 77, Reason: messages.EndCancelled}}})
	if len(sends) != 1 || sends[0].To != messages.Former { // its memory goes home
		t.Error("a repeated end is not harmless")
	}
}

func TestSlowReader(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	c := newClient(4)
	r.step(&messages.SubmitRequests{Call: 1, Requests: []messages.Submission{submission(), submission()}, Events: c.events})
	for i, tok := range ids("abcdefg") {
		r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: 1, Position: i, Token: tok}, {ID: 2, Position: i, Token: tok}}})
	}
	r.tokens(1, 7, eos)
	if len(c.events) != 4 {
		t.Fatalf("%d events wait, want a full channel", len(c.events))
	}
	c.read()
	if !c.outputs[2].Paused || c.outputs[1].Paused {
		t.Fatalf("paused: %v, %v", c.outputs[1].Paused, c.outputs[2].Paused)
	}
	r.tokens(2, 7, ids("h")...)
	if len(c.events) != 0 {
		t.Fatal("output came before ResumeOutput")
	}
	r.step(&messages.ResumeOutput{Call: 1})
	if len(c.events) != 2 {
		t.Fatalf("%d events after resuming, want one per request", len(c.events))
	}
	r.tokens(2, 8, eos)
	c.read()
	if c.text[0] != "abcdefg" || c.text[1] != "abcdefgh" || len(c.tokens[1]) != 9 || c.finish[0] == nil || c.finish[1] == nil {
		t.Fatalf("got %q, %q", c.text[0], c.text[1])
	}
	if _, open := r.table.calls[1]; open {
		t.Fatal("the call is open")
	}
	r.step(&messages.ResumeOutput{Call: 1}) // harmless
}

func TestChannelsSink(t *testing.T) {
	ch := make(chan messages.CallEvent, 2)
	s := Channels{}
	s.Deliver(ch, &messages.CallOutput{})
	if s.Room(ch) != 1 {
		t.Fatalf("room %d", s.Room(ch))
	}
	s.Deliver(ch, &messages.CallOutput{})
	defer func() {
		if recover() == nil {
			t.Fatal("a full channel took an event")
		}
	}()
	s.Deliver(ch, &messages.CallOutput{})
}
