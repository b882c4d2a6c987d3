package httpapi

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

type generateResponse struct {
	Text      string       `json:"text"`
	OutputIDs []int32      `json:"output_ids"`
	Meta      generateMeta `json:"meta_info"`
}

// generateMeta is meta_info. The lists are there when they were asked for.
type generateMeta struct {
	ID               string            `json:"id"`
	FinishReason     *generateFinish   `json:"finish_reason"`
	PromptTokens     int               `json:"prompt_tokens"`
	CompletionTokens int               `json:"completion_tokens"`
	CachedTokens     int               `json:"cached_tokens"`
	Latency          float64           `json:"e2e_latency"` // seconds so far
	InputLogprobs    []nativeLogprob   `json:"input_token_logprobs,omitempty"`
	InputTop         [][]nativeLogprob `json:"input_top_logprobs,omitempty"`
	OutputLogprobs   []nativeLogprob   `json:"output_token_logprobs,omitempty"`
	OutputTop        [][]nativeLogprob `json:"output_top_logprobs,omitempty"`
}

type generateFinish struct {
	Type    string `json:"type"`
	Matched any    `json:"matched,omitempty"` // stop: the token id or the string
	Length  *int   `json:"length,omitempty"`  // length: the limit that was reached
	Message string `json:"message,omitempty"` // abort: why
}

// nativeLogprob is SGLang's triple [logprob, token id, text or null].
type nativeLogprob [3]any

// generation converts the outputs of a call of /generate into its answers.
type generation struct {
	model    *Model
	prompts  []prompt
	n        int  // choices of each prompt
	list     bool // the answer is a list, since the prompt was one or n > 1
	logprobs bool
	top      int // likeliest tokens per position
	startLen int // first position of the prompt that is scored; -1: none
	withText bool
	rid      string
	now      func() time.Time
	start    time.Time
	answers  []generateResponse
}

// events implements answer: the answer so far of one choice, as SGLang streams it.
func (g *generation) events(to *sse, out *messages.CallOutput) {
	g.append(out)
	if !g.list {
		to.add(&g.answers[out.Index])
		return
	}
	to.add(&struct {
		*generateResponse
		Index int `json:"index"`
	}{&g.answers[out.Index], out.Index})
}

// last implements answer.
func (g *generation) last(*sse) {}

// whole implements answer.
func (g *generation) whole(outputs []*messages.CallOutput) any {
	for _, out := range outputs {
		g.append(out)
	}
	if g.list {
		return g.answers
	}
	return g.answers[0]
}

// append adds an output to its answer, which is cumulative.
func (g *generation) append(out *messages.CallOutput) {
	a := &g.answers[out.Index]
	a.Text += out.Text
	if a.OutputIDs == nil {
		a.OutputIDs = []int32{}
	}
	for _, t := range out.Tokens {
		a.OutputIDs = append(a.OutputIDs, t.Token)
		if g.logprobs && t.Logprobs != nil {
			g.add(&a.Meta.OutputLogprobs, &a.Meta.OutputTop, *t.Logprobs)
		}
	}
	if out.Prompt != nil && g.logprobs && g.startLen >= 0 && out.Index%g.n == 0 {
		if g.startLen == 0 { // the first token has nothing before it
			first := g.triple(messages.TokenLogprob{Token: g.prompts[out.Index/g.n].ids[0]})
			first[0] = nil
			a.Meta.InputLogprobs = append(a.Meta.InputLogprobs, first)
			if g.top > 0 {
				a.Meta.InputTop = append(a.Meta.InputTop, nil)
			}
		}
		for _, lp := range out.Prompt.Logprobs {
			g.add(&a.Meta.InputLogprobs, &a.Meta.InputTop, lp)
		}
	}
	u := out.Usage
	a.Meta.ID, a.Meta.PromptTokens, a.Meta.CompletionTokens, a.Meta.CachedTokens = g.rid, u.PromptTokens, u.CompletionTokens, u.CachedTokens
	a.Meta.Latency = g.now().Sub(g.start).Seconds()
	a.Meta.FinishReason = nativeFinish(out)
}

func nativeFinish(out *messages.CallOutput) *generateFinish {
	f := out.Finish
	if f == nil {
		return nil
	}
	fin := &generateFinish{Type: string(f.Reason), Message: f.Message}
	switch {
	case f.MatchedStop != "":
		fin.Matched = f.MatchedStop
	case f.Reason == messages.FinishStop:
		fin.Matched = f.MatchedToken
	case f.Reason == messages.FinishLength:
		fin.Length = &out.Usage.CompletionTokens
	}
	return fin
}

// add appends one position.
func (g *generation) add(chosen *[]nativeLogprob, top *[][]nativeLogprob, lp messages.PositionLogprobs) {
	*chosen = append(*chosen, g.triple(lp.Chosen))
	if g.top == 0 {
		return
	}
	list := make([]nativeLogprob, len(lp.Top))
	for i, t := range lp.Top {
		list[i] = g.triple(t)
	}
	*top = append(*top, list)
}

func (g *generation) triple(t messages.TokenLogprob) nativeLogprob {
	n := nativeLogprob{finite(t.Logprob), t.Token, nil}
	if g.withText {
		n[2] = tokenString(g.model, t.Token)
	}
	return n
}
