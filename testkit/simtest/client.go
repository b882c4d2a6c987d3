package simtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// request is one request of a call, with what its client must get and what it
// got.
type request struct {
	id  messages.RequestID // 0 until the call is accepted
	sub messages.Submission
	// alone asks for quarantine from the start, behind intake's back.
	alone bool

	want       []int32 // the whole output of an undisturbed run
	wantReason messages.EndReason
	stopped    bool // want ends by the stop string

	// What intake has heard from the engine.
	output   []int32
	ended    bool // an end has been decided, by tokens or by an abort
	released bool // the engine of this epoch holds nothing of it any more
	finishes int  // FinishRequests that reached the batch former this epoch
	acks     int  // and their acknowledgements

	// What the client has.
	tokens []messages.OutputToken
	text   strings.Builder
	prompt *messages.PromptOutput
	finish *messages.Finish
	usage  messages.Usage
}

// piece is the text of a token.
func piece(token int32) string { return fmt.Sprintf("<%d>", token) }

// expect computes the undisturbed run.
func (r *request) expect(c *Config) {
	p := r.sub.Params
	r.want, r.wantReason = fakemodel.ExpectedOutput(c.model(), r.sub.Prompt, p, c.capacity())
	for i := p.MinTokens; i < len(r.want) && len(r.sub.Stop) > 0; i++ {
		if piece(r.want[i]) == r.sub.Stop[0] {
			r.want, r.stopped = r.want[:i+1], true
			break
		}
	}
}

// wantText is what the client must read: without the text of what ended it.
func (r *request) wantText() string {
	shown := r.want
	if r.stopped || r.wantReason != messages.EndLength {
		shown = shown[:len(shown)-1]
	}
	var b strings.Builder
	for _, t := range shown {
		b.WriteString(piece(t))
	}
	return b.String()
}

// heard takes a token on its way to intake.
func (r *request) heard(t *messages.TokenResult) error {
	switch {
	case r.released:
		return fmt.Errorf("request %d got a token after it was released", r.id)
	case r.ended:
		return nil
	case t.Position != len(r.output):
		return fmt.Errorf("request %d got the token for position %d, has %d", r.id, t.Position, len(r.output))
	}
	r.output = append(r.output, t.Token)
	if n := len(r.output); n > len(r.want) || r.want[n-1] != t.Token {
		return fmt.Errorf("request %d: output %v, want %v", r.id, r.output, r.want)
	}
	r.ended = len(r.output) == len(r.want)
	return nil
}

// heardEnd takes an end on its way to intake. A repeated acknowledgement needs
// a repeated FinishRequests.
func (r *request) heardEnd(e *messages.RequestEnded) error {
	if e.Reason == messages.EndCancelled {
		if r.acks++; r.acks > r.finishes {
			return fmt.Errorf("request %d was acknowledged %d times, requested %d times", r.id, r.acks, r.finishes)
		}
		r.released = true
		return nil
	}
	if r.released {
		return fmt.Errorf("request %d ended again, by %s", r.id, e.Reason)
	}
	r.released = true
	if !r.ended {
		return fmt.Errorf("request %d ended by %s after %d tokens, want %d", r.id, e.Reason, len(r.output), len(r.want))
	}
	if r.stopped || len(r.output) < len(r.want) {
		return nil // the engine went on past the client's end
	}
	last := r.output[len(r.output)-1]
	if e.Reason != r.wantReason || e.Reason != messages.EndLength && e.Token != last {
		return fmt.Errorf("request %d ended by %s of token %d, want %s of %d", r.id, e.Reason, e.Token, r.wantReason, last)
	}
	return nil
}

// take is the client reading one output.
func (r *request) take(o *messages.CallOutput) error {
	if r.finish != nil {
		return fmt.Errorf("request %d got output after its finish", r.id)
	}
	r.tokens = append(r.tokens, o.Tokens...)
	r.text.WriteString(o.Text)
	if o.Prompt != nil {
		if r.prompt != nil {
			return fmt.Errorf("request %d got its prompt twice", r.id)
		}
		r.prompt = o.Prompt
	}
	r.finish, r.usage = o.Finish, o.Usage
	return nil
}

func (r *request) ids() []int32 {
	tokens := make([]int32, len(r.tokens))
	for i := range r.tokens {
		tokens[i] = r.tokens[i].Token
	}
	return tokens
}

// checkTokens checks what the client has got so far.
func (r *request) checkTokens() error {
	tokens := r.ids()
	if n := len(tokens); n > len(r.want) || !slices.Equal(tokens, r.want[:n]) {
		return fmt.Errorf("request %d: the client has tokens %v, want %v", r.id, tokens, r.want)
	}
	return nil
}

// finished checks the whole outcome at the client. cut says that the client
// left or aborted, or that quarantine may have ended the request.
func (r *request) finished(c *Config, cut bool) error {
	if r.finish == nil {
		return fmt.Errorf("request %d never finished", r.id)
	}
	tokens := r.ids()
	if r.usage.CompletionTokens != len(tokens) || r.usage.PromptTokens != len(r.sub.Prompt) {
		return fmt.Errorf("request %d: usage %+v with %d and %d tokens", r.id, r.usage, len(r.sub.Prompt), len(tokens))
	}
	if n := r.usage.CachedTokens; n < 0 || n > len(r.sub.Prompt) || n > 0 && (c.CacheDisabled || n%c.PageSize != 0 && n != len(r.sub.Prompt)) {
		return fmt.Errorf("request %d: %d of %d prompt tokens were cached", r.id, n, len(r.sub.Prompt))
	}
	if err := r.checkLogprobs(c, tokens); err != nil {
		return err
	}
	want := messages.FinishStop
	if !r.stopped && r.wantReason == messages.EndLength {
		want = messages.FinishLength
	}
	switch {
	case r.finish.Reason == messages.FinishAbort || r.finish.Reason == messages.FinishError:
		if !cut {
			return fmt.Errorf("request %d failed: %s", r.id, r.finish.Message)
		}
		return nil
	case len(tokens) != len(r.want) || r.text.String() != r.wantText():
		return fmt.Errorf("request %d: the client has %q of %d tokens, want %q of %d", r.id, r.text.String(), len(tokens), r.wantText(), len(r.want))
	case r.finish.Reason != want:
		return fmt.Errorf("request %d finished by %s, want %s", r.id, r.finish.Reason, want)
	case r.prompt == nil:
		return fmt.Errorf("request %d: its prompt was never reported", r.id)
	}
	return nil
}

// checkLogprobs compares everything that was reported about tokens.
func (r *request) checkLogprobs(c *Config, output []int32) error {
	p, prompt := r.sub.Params, r.sub.Prompt
	if r.prompt != nil && p.PromptLogprobs >= 0 {
		var want []messages.PositionLogprobs
		for i := max(1, p.PromptLogprobStart); i < len(prompt); i++ {
			want = append(want, fakemodel.ExpectedLogprobs(c.model(), prompt[:i+1], p.PromptLogprobs))
		}
		if len(want)+len(r.prompt.Logprobs) > 0 && !reflect.DeepEqual(r.prompt.Logprobs, want) {
			return fmt.Errorf("request %d: %d prompt logprobs from position %d, want %d", r.id, len(r.prompt.Logprobs), p.PromptLogprobStart, len(want))
		}
	}
	for i := range r.tokens {
		l := r.tokens[i].Logprobs
		if p.TopLogprobs < 0 {
			if l != nil {
				return fmt.Errorf("request %d: logprobs that were not requested", r.id)
			}
			continue
		}
		want := fakemodel.ExpectedLogprobs(c.model(), slices.Concat(prompt, output[:i+1]), p.TopLogprobs)
		if l == nil || !reflect.DeepEqual(*l, want) {
			return fmt.Errorf("request %d: logprobs of output %d: got %v, want %v", r.id, i, l, want)
		}
	}
	return nil
}
