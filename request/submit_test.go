package request

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

func TestAcceptedCallEntersEpoch(t *testing.T) {
	r := newRig(t, letters())
	c, sends := r.submit(7, "me", submission(), submission())
	if !slices.Equal(c.accepted, []messages.RequestID{1, 2}) || len(sends) != 0 {
		t.Fatalf("accepted %v, sent %v before an epoch", c.accepted, sends)
	}
	if r.reading(messages.RequestsTotal) != 2 || r.reading(messages.RequestsOpen) != 2 {
		t.Fatalf("readings %v", r.out.Readings)
	}
	reqs := r.start()
	if len(reqs) != 2 || reqs[0].ID != 1 || reqs[1].ID != 2 || !slices.Equal(reqs[0].Prompt, ids("hello")) || len(reqs[0].Output) != 0 || reqs[0].Alone {
		t.Fatalf("enqueued %v", reqs)
	}
	// With an epoch standing a call enters at once, as one message.
	_, sends = r.submit(8, "", submission(), submission())
	if got := enqueued(sends); len(sends) != 1 || len(got) != 2 || got[0].ID != 3 {
		t.Fatalf("sent %v", sends)
	}
}

func TestMaxTokensIsClipped(t *testing.T) {
	r := newRig(t, letters())
	s := submission()
	s.Params.MaxTokens = math.MaxInt
	r.submit(1, "", s, submission())
	reqs := r.start()
	if got := reqs[0].Params.MaxTokens; got != 48-5 {
		t.Errorf("clipped to %d, want to the end of the pool, 43", got)
	}
	if s.Params.MaxTokens != math.MaxInt || reqs[1].Params.MaxTokens != 20 {
		t.Error("frozen parameters were changed")
	}
}

func TestInvalidCallsAreRefused(t *testing.T) {
	long := make([]int32, 60)
	for _, c := range []struct {
		want, param, code string
		change            func(*messages.Submission)
	}{
		{"the prompt is empty", "prompt", "empty_prompt", func(s *messages.Submission) { s.Prompt = nil }},
		{"model's context is 64", "prompt", "context_length_exceeded", func(s *messages.Submission) { s.Prompt = make([]int32, 64) }},
		{"KV pool holds 48", "prompt", "context_length_exceeded", func(s *messages.Submission) { s.Prompt = long }},
		{"token 27 at position 1", "prompt", "token_out_of_vocabulary", func(s *messages.Submission) { s.Prompt = []int32{1, 27} }},
		{"token -1 at position 0", "prompt", "token_out_of_vocabulary", func(s *messages.Submission) { s.Prompt = []int32{-1} }},
		{"temperature is -1", "temperature", "", func(s *messages.Submission) { s.Params.Temperature = -1 }},
		{"temperature is NaN", "temperature", "", func(s *messages.Submission) { s.Params.Temperature = float32(math.NaN()) }},
		{"temperature is +Inf", "temperature", "", func(s *messages.Submission) { s.Params.Temperature = float32(math.Inf(1)) }},
		{"top_p is 0", "top_p", "", func(s *messages.Submission) { s.Params.TopP = 0 }},
		{"top_k is -1", "top_k", "", func(s *messages.Submission) { s.Params.TopK = -1 }},
		{"min_p is 1.5", "min_p", "", func(s *messages.Submission) { s.Params.MinP = 1.5 }},
		{"frequency_penalty is 3", "frequency_penalty", "", func(s *messages.Submission) { s.Params.FrequencyPenalty = 3 }},
		{"presence_penalty is -3", "presence_penalty", "", func(s *messages.Submission) { s.Params.PresencePenalty = -3 }},
		{"repetition_penalty is 0", "repetition_penalty", "", func(s *messages.Submission) { s.Params.RepetitionPenalty = 0 }},
		{"max_tokens is 0", "max_tokens", "", func(s *messages.Submission) { s.Params.MaxTokens = 0 }},
		{"min_tokens is 21; it must be at most 20", "min_tokens", "", func(s *messages.Submission) { s.Params.MinTokens = 21 }},
		{"top_logprobs is 6; it must be at most 5", "top_logprobs", "", func(s *messages.Submission) { s.Params.TopLogprobs = 6 }},
		{"logprob_start_len is 6; it must be at most 5", "logprob_start_len", "", func(s *messages.Submission) { s.Params.PromptLogprobStart = len(s.Prompt) + 1 }},
		{"stop token 99", "stop_token_ids", "token_out_of_vocabulary", func(s *messages.Submission) { s.Params.StopTokenIDs = []int32{99} }},
		{"logit_bias has token 99", "logit_bias", "token_out_of_vocabulary", func(s *messages.Submission) { s.Params.LogitBias = []messages.TokenBias{{Token: 99}} }},
		{"logit_bias of token 1 is 101", "logit_bias", "", func(s *messages.Submission) { s.Params.LogitBias = []messages.TokenBias{{Token: 1, Bias: 101}} }},
		{"token 1 twice", "logit_bias", "", func(s *messages.Submission) { s.Params.LogitBias = []messages.TokenBias{{Token: 1}, {Token: 1}} }},
		{"a stop string is empty", "stop", "", func(s *messages.Submission) { s.Stop = []string{"x", ""} }},
		{"have 5000 bytes", "stop", "", func(s *messages.Submission) { s.Stop = []string{strings.Repeat("x", 5000)} }},
		{"no sampling parameters", "", "", func(s *messages.Submission) { s.Params = nil }},
		{"depends on request 0", "", "", func(s *messages.Submission) { s.After = 0 }},
	} {
		r := newRig(t, letters())
		s := submission()
		c.change(&s)
		client, sends := r.submit(1, "u", s)
		got := client.refused
		if got == nil || got.Kind != messages.RefusedInvalid || !strings.Contains(got.Message, c.want) || got.Param != c.param || got.Code != c.code {
			t.Errorf("want %q, got %+v", c.want, got)
		}
		if len(sends) != 0 || r.table.Open() != 0 || r.reading(messages.RequestsRefused) != 1 {
			t.Errorf("%q: a refused call left traces", c.want)
		}
		if again, _ := r.submit(2, "u", submission()); again.accepted == nil {
			t.Errorf("%q: a refused call kept its request ID", c.want)
		}
	}
}

func TestRefusalNamesTheRequest(t *testing.T) {
	r := newRig(t, letters())
	bad := submission()
	bad.Prompt = nil
	c, _ := r.submit(1, "", submission(), bad)
	if c.refused == nil || !strings.HasPrefix(c.refused.Message, "request 2 of 2: ") {
		t.Fatalf("got %+v", c.refused)
	}
	if c, _ = r.submit(2, ""); c.refused == nil || c.refused.Kind != messages.RefusedInvalid {
		t.Fatalf("a call without requests: %+v", c.refused)
	}
	if c, _ = r.submit(3, "", make([]messages.Submission, 9)...); c.refused == nil || c.refused.Kind != messages.RefusedInvalid {
		t.Fatalf("a call that never fits the table: %+v", c.refused)
	}
}

func TestDuplicateRequestID(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	r.submit(1, "same", submission())
	c, _ := r.submit(2, "same", submission())
	if c.refused == nil || c.refused.Kind != messages.RefusedDuplicate || !strings.Contains(c.refused.Message, `Duplicate request ID "same"`) {
		t.Fatalf("got %+v", c.refused)
	}
	r.step(&messages.DropCall{Call: 1})
	if c, _ = r.submit(3, "same", submission()); c.accepted == nil {
		t.Fatalf("the ID of a client that has disconnected is refused: %+v", c.refused)
	}
	r.tokens(2, 0, ids("a.")...)
	if c, _ = r.submit(4, "same", submission()); c.accepted == nil {
		t.Fatalf("the ID of a finished call is refused: %+v", c.refused)
	}
	for call := range messages.CallID(2) {
		if c, _ = r.submit(10+call, "", submission()); c.accepted == nil {
			t.Fatal("calls without an ID are duplicates")
		}
	}
}

func TestBoundOnOpenRequests(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	short := submission()
	short.Prompt = ids("a")
	for call := range messages.CallID(4) {
		r.submit(call, "", short, short)
	}
	c, _ := r.submit(9, "", short)
	if c.refused == nil || c.refused.Kind != messages.RefusedBusy || c.refused.RetryAfterSeconds != 1 {
		t.Fatalf("got %+v", c.refused)
	}
	// Ends three seconds apart give a sensible pause.
	for id := range messages.RequestID(4) {
		r.results(messages.StepResults{Admitted: []messages.RequestID{id + 1}})
		r.now += 3 * time.Second
		r.tokens(id+1, 0, eos)
		r.released(id+1, messages.EndEOS)
	}
	for call := range messages.CallID(2) {
		if c, _ = r.submit(20+call, "", short, short); c.accepted == nil {
			t.Fatalf("released places are not free: %+v", c.refused)
		}
	}
	c, _ = r.submit(30, "", short, short, short, short, short, short)
	if c.refused == nil || c.refused.RetryAfterSeconds < 12 || c.refused.RetryAfterSeconds > 30 {
		t.Fatalf("got %+v", c.refused)
	}
}

func TestBoundOnQueuedTokens(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	s := submission()
	s.Prompt = make([]int32, 40)
	r.submit(1, "", s)
	c, _ := r.submit(2, "", s)
	if c.refused == nil || c.refused.Kind != messages.RefusedBusy || !strings.Contains(c.refused.Message, "40 prompt tokens are waiting and this call has 40 more") {
		t.Fatalf("got %+v", c.refused)
	}
	r.tokens(1, 0, 1)
	if c, _ = r.submit(3, "", s, s, s); c.accepted == nil {
		t.Fatalf("an empty queue refuses: %+v", c.refused)
	}
}

func TestDrain(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	open, _ := r.submit(1, "", submission())
	one, two := make(chan struct{}), make(chan struct{})
	r.step(&messages.DrainIntake{Done: one})
	r.step(&messages.DrainIntake{Done: two})
	c, _ := r.submit(2, "", submission())
	if c.refused == nil || c.refused.Kind != messages.RefusedDraining || !r.table.draining {
		t.Fatalf("got %+v", c.refused)
	}
	r.tokens(1, 0, ids("ab.")...)
	select {
	case <-one:
		t.Fatal("drained while the engine holds a request")
	default:
	}
	r.released(1, messages.EndEOS)
	<-one
	<-two
	if open.read().text[0] != "ab" {
		t.Fatalf("the open call got %q", open.text[0])
	}
	three := make(chan struct{})
	r.step(&messages.DrainIntake{Done: three})
	<-three
}

func TestHeldChoices(t *testing.T) {
	r := newRig(t, letters())
	first, second, third := submission(), submission(), submission()
	second.After, third.After = 0, 1
	_, sends := r.submit(1, "", first, second, third)
	if len(sends) != 0 {
		t.Fatalf("sent %v", sends)
	}
	if reqs := r.start(); len(reqs) != 1 || reqs[0].ID != 1 {
		t.Fatalf("enqueued %v", reqs)
	}
	r.end() // held ones stay held over an epoch
	if reqs := r.start(); len(reqs) != 1 || reqs[0].ID != 1 {
		t.Fatalf("enqueued %v", reqs)
	}
	if got := enqueued(r.tokens(1, 0, 1)); len(got) != 1 || got[0].ID != 2 {
		t.Fatalf("the first token released %v", got)
	}
	// An end without a token releases as well.
	sends = r.results(messages.StepResults{Ended: []messages.RequestEnded{{ID: 2, Reason: messages.EndLength}}})
	if got := enqueued(sends); len(got) != 1 || got[0].ID != 3 {
		t.Fatalf("the end released %v", got)
	}
}

func TestAbortOfHeldChoices(t *testing.T) {
	r := newRig(t, letters())
	r.start()
	second := submission()
	second.After = 0
	c, _ := r.submit(1, "x", submission(), second)
	sends := r.step(&messages.AbortRequests{UserID: "x"})
	if got := finished(sends); len(enqueued(sends)) != 0 || !slices.Equal(got, []messages.RequestID{1}) {
		t.Fatalf("sent %v", sends)
	}
	if c.read(); c.finish[0].Finish.Reason != messages.FinishAbort || c.finish[1].Finish.Reason != messages.FinishAbort {
		t.Fatalf("got %v", c.finish)
	}
	if r.table.Open() != 1 {
		t.Fatalf("%d open, want the one in the engine", r.table.Open())
	}
}

func TestAbandonAnswersWhoWouldWait(t *testing.T) {
	r := newRig(t, letters())
	c := newClient(4)
	m := &messages.SubmitRequests{Call: 5, Requests: []messages.Submission{submission()}, Events: c.events}
	r.core.Abandon(m)
	if c.read(); c.refused == nil || c.refused.Code != "internal_error" {
		t.Fatalf("got %+v", c.refused)
	}
	c = newClient(4)
	m.Events = c.events
	r.step(m)
	r.core.Abandon(m)
	if c.read(); c.refused != nil {
		t.Fatal("an accepted call was refused")
	}
	if r.step(m); r.table.Open() != 1 {
		t.Fatal("a call that came twice was taken twice")
	}
	flush, audit := make(chan string, 1), make(chan *messages.SlotsAudited, 1)
	r.core.Abandon(&messages.AskCacheFlush{Reply: flush})
	r.core.Abandon(&messages.AskAudit{Reply: audit})
	if <-flush == "" || <-audit != nil {
		t.Fatal("questions got good answers")
	}
}

func TestTableOptions(t *testing.T) {
	if err := tableOptions().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*TableOptions){
		"ContextLength":   func(o *TableOptions) { o.ContextLength = 1 },
		"PoolTokens":      func(o *TableOptions) { o.PoolTokens = 0 },
		"Vocab":           func(o *TableOptions) { o.Vocab = 0 },
		"MaxOpenRequests": func(o *TableOptions) { o.MaxOpenRequests = 0 },
	} {
		o := tableOptions()
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
