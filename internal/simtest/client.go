package simtest

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/troupe-engine/troupe/internal/fakemodel"
	"github.com/troupe-engine/troupe/messages"
)

// client is one request as the twin of intake keeps it, with what it must get.
type client struct {
	id        messages.RequestID
	prompt    []int32
	params    *messages.SamplingParams
	namespace string
	alone     bool // asked for from the start, or quarantined
	stop      int32
	hasStop   bool
	cancelAt  int // deliveries after which it is cancelled; -1: never

	want       []int32 // the whole output of an undisturbed run
	wantReason messages.EndReason
	stopped    bool // want ends by stop

	submitted bool
	output    []int32 // accepted
	logprobs  []*messages.PositionLogprobs
	prompted  bool
	ended     bool // the client's end is decided
	cancelled bool // by cancelAt
	released  bool // the engine holds nothing any more
	acks      int
	reason    messages.EndReason
	strikes   int // crashes as a suspect without progress
}

// expect computes the undisturbed run.
func (cl *client) expect(c *Config) {
	cl.want, cl.wantReason = fakemodel.ExpectedOutput(c.model(), cl.prompt, cl.params, c.capacity())
	if !cl.hasStop {
		return
	}
	if i := slices.Index(cl.want, cl.stop); i >= 0 {
		cl.want, cl.stopped = cl.want[:i+1], true
	}
}

// request is what is submitted: after a crash with all output so far.
func (cl *client) request() *messages.EngineRequest {
	return &messages.EngineRequest{
		ID: cl.id, Prompt: cl.prompt, Output: slices.Clone(cl.output), Params: cl.params,
		Namespace: cl.namespace, Alone: cl.alone,
	}
}

// take accepts a token and reports whether intake ends the request by it.
func (cl *client) take(t *messages.TokenResult) (finish bool, err error) {
	if cl.released {
		return false, fmt.Errorf("request %d got a token after it was released", cl.id)
	}
	if cl.ended {
		return false, nil
	}
	if t.Position != len(cl.output) {
		return false, fmt.Errorf("request %d got the token for position %d, has %d", cl.id, t.Position, len(cl.output))
	}
	cl.output = append(cl.output, t.Token)
	cl.logprobs = append(cl.logprobs, t.Logprobs)
	cl.strikes = 0
	if len(cl.output) > len(cl.want) || cl.want[len(cl.output)-1] != t.Token {
		return false, fmt.Errorf("request %d: output %v, want %v", cl.id, cl.output, cl.want)
	}
	if cl.hasStop && t.Token == cl.stop {
		cl.ended = true
		return true, nil
	}
	return false, nil
}

// release takes an end from the engine.
func (cl *client) release(e *messages.RequestEnded) error {
	if cl.released {
		if e.Reason == messages.EndCancelled {
			return nil // a repeated end is harmless
		}
		return fmt.Errorf("request %d ended again, by %s", cl.id, e.Reason)
	}
	cl.released = true
	cl.acks++
	if cl.ended {
		return nil
	}
	if e.Reason == messages.EndCancelled {
		return fmt.Errorf("request %d was cancelled by nobody", cl.id)
	}
	cl.ended, cl.reason = true, e.Reason
	if by := e.Reason == messages.EndEOS || e.Reason == messages.EndStopToken; by && e.Token != cl.output[len(cl.output)-1] {
		return fmt.Errorf("request %d ended by token %d, its last one is %d", cl.id, e.Token, cl.output[len(cl.output)-1])
	}
	return nil
}

// takePrompt checks the report about a prompt; the first one counts.
func (cl *client) takePrompt(c *Config, p *messages.PromptResult) error {
	if p.CachedTokens < 0 || p.CachedTokens >= len(cl.prompt)+len(cl.output) || p.CachedTokens > len(cl.prompt) || c.CacheDisabled && p.CachedTokens > 0 {
		return fmt.Errorf("request %d: %d of %d prompt tokens were cached", cl.id, p.CachedTokens, len(cl.prompt))
	}
	if cl.prompted || cl.ended {
		return nil
	}
	cl.prompted = true
	if cl.params.PromptLogprobs < 0 {
		return nil
	}
	var want []messages.PositionLogprobs
	for i := max(1, cl.params.PromptLogprobStart); i < len(cl.prompt); i++ {
		want = append(want, fakemodel.ExpectedLogprobs(c.model(), cl.prompt[:i+1], cl.params.PromptLogprobs))
	}
	if len(want)+len(p.Logprobs) > 0 && !reflect.DeepEqual(p.Logprobs, want) {
		return fmt.Errorf("request %d: prompt logprobs from %d: got %d, want %d", cl.id, cl.params.PromptLogprobStart, len(p.Logprobs), len(want))
	}
	return nil
}

// finished checks the whole outcome.
func (cl *client) finished(c *Config) error {
	switch {
	case !cl.ended || !cl.released:
		return fmt.Errorf("request %d: ended %t, released %t", cl.id, cl.ended, cl.released)
	case cl.acks > 1:
		return fmt.Errorf("request %d was released %d times", cl.id, cl.acks)
	case cl.cancelled:
	case !slices.Equal(cl.output, cl.want):
		return fmt.Errorf("request %d: output %v, want %v", cl.id, cl.output, cl.want)
	case !cl.prompted:
		return fmt.Errorf("request %d: its prompt was never reported", cl.id)
	case !cl.stopped && cl.reason != cl.wantReason:
		return fmt.Errorf("request %d ended by %s, want %s", cl.id, cl.reason, cl.wantReason)
	}
	for i, l := range cl.logprobs {
		if cl.params.TopLogprobs < 0 {
			if l != nil {
				return fmt.Errorf("request %d: logprobs that nobody asked for", cl.id)
			}
			continue
		}
		tokens := slices.Concat(cl.prompt, cl.output[:i+1])
		if want := fakemodel.ExpectedLogprobs(c.model(), tokens, cl.params.TopLogprobs); l == nil || !reflect.DeepEqual(*l, want) {
			return fmt.Errorf("request %d: logprobs of output %d: got %v, want %v", cl.id, i, l, want)
		}
	}
	return nil
}
