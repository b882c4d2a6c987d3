package node

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
)

// exactRequests are a greedy one with prompt logprobs, and one that samples.
// Their prompts fill two tiles of every kernel and end in a third block of
// attention.
func exactRequests() [2]messages.Submission {
	greedy := submission(150, 1, messages.SamplingParams{PromptLogprobs: exactTop, PromptLogprobStart: exactStart, TopLogprobs: exactTop})
	drawn := submission(131, 2, messages.SamplingParams{Temperature: 1.1, TopK: 60, FrequencyPenalty: 0.5, TopLogprobs: exactTop, PromptLogprobs: messages.NoLogprobs})
	return [2]messages.Submission{greedy, drawn}
}

// exactMates are short ones, so that all are in one step before the first ends.
func exactMates() (list []messages.Submission) {
	for i := range exactRows - len(exactRequests()) {
		params := messages.SamplingParams{Temperature: float32(i%3) / 2, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
		list = append(list, submission(1+i%4, uint64(3+i), params))
	}
	return list
}

func submission(tokens int, seed uint64, p messages.SamplingParams) messages.Submission {
	r := rand.New(rand.NewPCG(seed, 9))
	prompt := make([]int32, tokens)
	for i := range prompt {
		prompt[i] = r.Int32N(exactVocab)
	}
	p.TopP, p.RepetitionPenalty, p.MaxTokens, p.IgnoreEOS, p.Seed = 1, 1, exactTokens, true, seed
	return messages.Submission{Prompt: prompt, Params: &p, After: -1}
}

// bitsOf returns every token and log probability of an answer.
func bitsOf(t *testing.T, out *messages.CallOutput) (bits []uint32) {
	t.Helper()
	position := func(p *messages.PositionLogprobs) {
		if p == nil || len(p.Top) != exactTop {
			t.Fatalf("request %d: log probabilities %+v, want %d beside the token's", out.Index, p, exactTop)
		}
		for _, l := range append([]messages.TokenLogprob{p.Chosen}, p.Top...) {
			bits = append(bits, uint32(l.Token), math.Float32bits(l.Logprob))
		}
	}
	asked := 0
	if out.Prompt != nil {
		for i := range out.Prompt.Logprobs {
			position(&out.Prompt.Logprobs[i])
			asked++
		}
	}
	for _, token := range out.Tokens {
		bits = append(bits, uint32(token.Token))
		position(token.Logprobs)
	}
	params := exactRequests()[out.Index].Params
	if wants := params.PromptLogprobs >= 0; len(out.Tokens) != exactTokens || (asked == out.Usage.PromptTokens-exactStart) != wants {
		t.Fatalf("request %d: %d tokens, and %d of the prompt", out.Index, len(out.Tokens), asked)
	}
	return bits
}

// differ returns where two lists begin to differ.
func differ(a, b []uint32) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// largest has the maxima of all steps: rows, tokens, and tokens of one row.
type largest struct {
	mu                sync.Mutex
	rows, tokens, row int
}

func (l *largest) watch(_ messages.Actor, msg any) {
	if b, is := msg.(*messages.RunBatch); is {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rows, l.tokens = max(l.rows, len(b.Work)), max(l.tokens, b.Tokens())
		for _, w := range b.Work {
			l.row = max(l.row, w.Count)
		}
	}
}

// check checks the steps against the serving.
func (l *largest) check(t *testing.T, s serving) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := 1
	if s.batch {
		rows = exactRows
	}
	if l.rows != rows || l.row > s.chunk || s.chunk == exactChunk && l.row < exactLeast {
		t.Errorf("%s: steps have up to %d rows, %d tokens, %d of one row", s.name, l.rows, l.tokens, l.row)
	}
}

// exactClient is the only client of an engine.
type exactClient struct {
	node *Node
	last messages.CallID
}

func openExact(t *testing.T, c *configs.Config, seen *largest) *exactClient {
	n, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop(), Unhashed: true, Engine: func(s *engine.Spec) { s.Intercept = seen.watch }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, n) })
	return &exactClient{node: n}
}

// each sends the requests one by one.
func (c *exactClient) each(t *testing.T, requests [2]messages.Submission) (outs [2]*messages.CallOutput) {
	t.Helper()
	for i, r := range requests {
		out := *c.call(t, []messages.Submission{r})[0]
		out.Index = i
		outs[i] = &out
	}
	return outs
}

// call sends requests at once and returns the answers in their order.
func (c *exactClient) call(t *testing.T, requests []messages.Submission) []*messages.CallOutput {
	t.Helper()
	c.last++
	events := make(chan messages.CallEvent, 2+2*len(requests))
	c.node.Engine.Send(&messages.SubmitRequests{Call: c.last, UserID: fmt.Sprint(c.last), Events: events, Requests: requests})
	outs := make([]*messages.CallOutput, len(requests))
	for open := len(requests); open > 0; {
		select {
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case err := <-c.node.Fatal:
			t.Fatal(err)
		case event := <-events:
			switch e := event.(type) {
			case *messages.CallRefused:
				t.Fatal(e.Message)
			case *messages.CallOutput:
				if e.Finish == nil || e.Finish.Reason != messages.FinishLength || outs[e.Index] != nil {
					t.Fatalf("request %d ended with %+v", e.Index, e.Finish)
				}
				outs[e.Index] = e
				open--
			}
		}
	}
	return outs
}
