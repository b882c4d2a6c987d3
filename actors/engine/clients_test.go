package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// wanted is what a client must get for one request, by the sequential twin.
type wanted struct {
	tokens []int32
	text   string
	finish messages.Finish
}

// expected computes a request's whole answer without an engine.
func expected(fake fakemodel.Options, s *messages.Submission, limit int) wanted {
	p := s.Params
	tokens, reason := fakemodel.ExpectedOutput(fake, s.Prompt, p, limit)
	text := ""
	for i, token := range tokens {
		last := i == len(tokens)-1
		byToken := last && reason != messages.EndLength
		if !byToken {
			text += words{}.Push(token)
		}
		if end, stop := firstStop(text, s.Stop); i >= p.MinTokens && end > 0 {
			return wanted{tokens[:i+1], text[:end-len(stop)], messages.Finish{Reason: messages.FinishStop, MatchedToken: -1, MatchedStop: stop}}
		}
	}
	f := messages.Finish{Reason: messages.FinishLength, MatchedToken: -1}
	if reason != messages.EndLength {
		f = messages.Finish{Reason: messages.FinishStop, MatchedToken: tokens[len(tokens)-1]}
	}
	return wanted{tokens, text, f}
}

// firstStop is the longest stop string that is complete at the first place
// where any is, and where it ends; 0 if none is. The tests' stop strings do not
// occur in the part of a text that MinTokens protects.
func firstStop(text string, stops []string) (end int, stop string) {
	for end = 1; end <= len(text); end++ {
		for _, s := range stops {
			if strings.HasSuffix(text[:end], s) && len(s) > len(stop) {
				stop = s
			}
		}
		if stop != "" {
			return end, stop
		}
	}
	return 0, ""
}

// client is one call, from outside.
type client struct {
	id     messages.CallID
	subs   []messages.Submission
	want   []wanted
	got    []*result
	events chan messages.CallEvent
	weight int // how eagerly it reads

	leaveAt  int // turns after which it leaves; -1: never
	accepted bool
	left     bool
	dropped  bool // the channel is not read
}

// cast makes the clients of a run: equal prompts, common prefixes, prompts that
// fill the whole capacity, several choices of one prompt.
func (w *world) cast() {
	r := w.rnd
	stem := tokens(r, w.limit())
	var seen [][]int32
	for i := range w.calls {
		c := &client{id: messages.CallID(w.seed*1000 + uint64(i)), events: make(chan messages.CallEvent, draw(r, 4, 5, 64)), weight: draw(r, 1, 1, 4, 30), leaveAt: -1}
		if r.Float64() < w.leave {
			c.leaveAt = r.IntN(2000)
		}
		prompt := append(slices.Clone(stem[:r.IntN(w.limit())]), tokens(r, r.IntN(8))...)
		prompt = prompt[:min(len(prompt), w.limit()-1)]
		if len(prompt) == 0 {
			prompt = tokens(r, 1)
		}
		if len(seen) > 0 && r.IntN(4) == 0 {
			prompt = draw(r, seen...)
		}
		seen = append(seen, prompt)
		namespace := draw(r, "", "", "tenant")
		for n := range draw(r, 1, 1, 1, 3) {
			s := messages.Submission{Prompt: prompt, Namespace: namespace, Params: w.params(len(prompt), uint32(n)), Stream: r.IntN(3) > 0, After: -1}
			if n > 0 && r.IntN(3) > 0 {
				s.After = 0
			}
			whole := expected(w.models[0].Options(), &s, w.limit())
			if len(whole.tokens) > s.Params.MinTokens+1 && r.IntN(3) == 0 {
				s.Params.MinTokens = 0
				s.Stop = w.stops(expected(w.models[0].Options(), &s, w.limit()).text)
			}
			c.subs = append(c.subs, s)
			c.want = append(c.want, expected(w.models[0].Options(), &s, w.limit()))
			c.got = append(c.got, &result{})
		}
		w.clients = append(w.clients, c)
	}
}

func (w *world) params(prompt int, choice uint32) *messages.SamplingParams {
	r := w.rnd
	p := &messages.SamplingParams{
		Temperature: draw[float32](r, 0, 1), TopP: 1, RepetitionPenalty: draw[float32](r, 1, 1.1), FrequencyPenalty: draw[float32](r, 0, 0.5),
		Seed: r.Uint64(), Choice: choice, MaxTokens: 1 + r.IntN(w.limit()), EOSTokenIDs: []int32{0, 1}, IgnoreEOS: r.IntN(4) == 0,
		TopLogprobs: draw(r, messages.NoLogprobs, 0, 2), PromptLogprobs: messages.NoLogprobs,
	}
	if r.IntN(4) == 0 {
		p.MinTokens = r.IntN(min(10, p.MaxTokens))
	}
	if r.IntN(4) == 0 {
		p.StopTokenIDs = []int32{int32(2 + r.IntN(worldVocab-2))}
	}
	return p
}

// stops are strings out of a text, across its tokens' borders, and one that
// never comes.
func (w *world) stops(text string) []string {
	if text == "" {
		return []string{"never"}
	}
	at := w.rnd.IntN(len(text))
	return []string{text[at:min(len(text), at+1+w.rnd.IntN(6))], "never"}
}

func tokens(r *rand.Rand, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(r.IntN(worldVocab))
	}
	return list
}

func (c *client) userID() string { return fmt.Sprint("user-", c.id) }

// submit sends the call.
func (c *client) submit(w *world) {
	w.Send(&messages.SubmitRequests{Call: c.id, UserID: c.userID(), Requests: c.subs, Events: c.events})
}

// join lets a client take part: read, leave, ask for a flush or an audit.
func (c *client) join(w *world) {
	w.order.Add(c.weight, func() bool { return !c.dropped && len(c.events) > 0 }, func() {
		if err := c.read(w, <-c.events); err != nil {
			w.fail("call %d: %w", c.id, err)
		}
	})
	w.order.Add(1, func() bool {
		return c.accepted && !c.left && c.leaveAt >= 0 && w.order.Turns() >= c.leaveAt
	}, func() {
		c.left = true
		switch w.rnd.IntN(3) {
		case 0:
			w.Send(&messages.AbortRequests{UserID: c.userID()})
		case 1:
			c.dropped = true
			w.Send(&messages.DropCall{Call: c.id})
		case 2: // it was only curious
			c.left = false
			c.leaveAt = -1
			w.ask()
		}
	})
}

// ask sends an audit and a flush.
func (w *world) ask() {
	audit, flush := make(chan *messages.SlotsAudited, 1), make(chan string, 1)
	w.audits, w.flushes = append(w.audits, audit), append(w.flushes, flush)
	w.Send(&messages.AskAudit{Reply: audit})
	w.Send(&messages.AskCacheFlush{Reply: flush})
}

// read takes one event.
func (c *client) read(w *world, event messages.CallEvent) error {
	switch e := event.(type) {
	case *messages.CallAccepted:
		if c.accepted {
			return errors.New("accepted twice")
		}
		c.accepted = true
	case *messages.CallOutput:
		r := c.got[e.Index]
		if !c.accepted || r.finish != nil {
			return fmt.Errorf("request %d got output before its beginning or after its end", e.Index)
		}
		if !c.subs[e.Index].Stream && e.Finish == nil {
			return fmt.Errorf("request %d did not ask to stream and got a part", e.Index)
		}
		r.text.WriteString(e.Text)
		for _, t := range e.Tokens {
			r.tokens = append(r.tokens, t.Token)
			if (t.Logprobs != nil) != (c.subs[e.Index].Params.TopLogprobs >= 0) {
				return fmt.Errorf("request %d: token %d has logprobs %v", e.Index, t.Token, t.Logprobs)
			}
		}
		r.finish, r.usage = e.Finish, e.Usage
		if e.Paused {
			w.Send(&messages.ResumeOutput{Call: c.id})
		}
	default:
		return fmt.Errorf("got %T %+v", event, event)
	}
	return nil
}

// check compares a call with the twin's.
func (c *client) check(w *world) error {
	if c.dropped {
		return nil
	}
	for i, r := range c.got {
		want := c.want[i]
		switch {
		case r.finish == nil:
			return fmt.Errorf("request %d never ended", i)
		case len(r.tokens) > len(want.tokens) || !slices.Equal(r.tokens, want.tokens[:len(r.tokens)]):
			return fmt.Errorf("request %d has tokens %v, want %v", i, r.tokens, want.tokens)
		case r.usage.CompletionTokens != len(r.tokens) || r.usage.PromptTokens != len(c.subs[i].Prompt):
			return fmt.Errorf("request %d: usage %+v of %d and %d tokens", i, r.usage, len(c.subs[i].Prompt), len(r.tokens))
		case c.left && r.finish.Reason == messages.FinishAbort, w.quarantine && r.finish.Reason == messages.FinishError:
			continue
		case *r.finish != want.finish:
			return fmt.Errorf("request %d ended by %+v, want %+v", i, *r.finish, want.finish)
		case len(r.tokens) != len(want.tokens) || r.text.String() != want.text:
			return fmt.Errorf("request %d has %q, want %q", i, r.text.String(), want.text)
		}
	}
	return nil
}

// checkEnd checks what must hold when nothing is left to do.
func (w *world) checkEnd() {
	if w.fatal != nil {
		w.fail("the engine gave up: %w", w.fatal)
	}
	for _, c := range w.clients {
		if err := c.check(w); err != nil {
			w.fail("call %d: %w", c.id, err)
		}
	}
	if w.toppled > w.shaken {
		w.fail("the supervisor panicked %d times, %d times it was made to", w.toppled, w.shaken)
	}
	if w.logged != w.crashes {
		w.fail("%d actors panicked, %d of them were made to", w.logged, w.crashes)
	}
	if n := w.table.Open(); n > 0 {
		w.fail("%d requests are open in intake's table", n)
	}
	for i, model := range w.models {
		if v := model.Violations(); len(v) > 0 {
			w.fail("device %d saw: %s", i, v[0])
		}
	}
	for i, reply := range w.audits {
		if len(reply) != 1 || len(w.flushes[i]) != 1 {
			w.fail("audit or flush %d has no answer", i)
			continue
		}
		a := <-reply
		if a != nil && (!a.OK || !a.Count.Balanced() || a.Count.Total%w.pages != 0) {
			w.fail("audit %d says %+v", i, *a)
		}
		if last := i == len(w.audits)-1; last && (a == nil || a.Count.Total != w.pages*len(w.models) || a.Count.Leased+a.Count.Protected+a.Count.InTransfer > 0) {
			w.fail("at the end the audit says %+v", a)
		}
	}
}
