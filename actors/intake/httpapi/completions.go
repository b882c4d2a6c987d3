package httpapi

import (
	"cmp"
	"net/http"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/messages"
)

// completionRequest is the body of /v1/completions.
type completionRequest struct {
	sampling
	stream
	scheduling
	Options  *sampling  `json:"options"` // Ollama's place for sampling parameters
	Model    string     `json:"model"`
	Prompt   promptJSON `json:"prompt"`
	Logprobs *int       `json:"logprobs"`
	Echo     *bool      `json:"echo"`
	RID      string     `json:"rid"`
}

// completionChoice is a choice. The API's description has no null for finish_reason.
// Its server sends null until the end, and so does this one: any word ends the stream.
type completionChoice struct {
	Index        int           `json:"index"`
	Text         string        `json:"text"`
	Logprobs     *textLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
}

// completion converts outputs into choices.
type completion struct {
	model    *Model
	prompts  []prompt
	n        int // choices of each prompt
	echo     bool
	logprobs bool
	scores   []*messages.PromptOutput // by prompt, as the first choice reports it
	choices  []choiceState
}

// choiceState is what one choice has sent so far.
type choiceState struct {
	offsets textOffsets
	started bool                   // the echo is out
	waiting []*messages.CallOutput // held until the prompt's scores are known
}

func (s *Server) prepareCompletion(r *http.Request, req *completionRequest) (*plan, *apiError) {
	served, err := s.reachForCall(req.Model)
	padding := req.stream.padding()
	if err == nil {
		err = req.stream.check()
	}
	if err == nil {
		err = req.sampling.merge("options", req.Options)
	}
	if err != nil {
		return nil, err
	}
	m := &served.Model
	most, err := req.max(0)
	if err != nil {
		return nil, err
	}
	params, err := req.sampling.params(m, most, s.Seed)
	if err != nil {
		return nil, err
	}
	c := &completion{model: m, n: req.choices(), logprobs: req.Logprobs != nil, echo: given(req.Echo, false)}
	if top := given(req.Logprobs, 0); c.logprobs {
		if top < 0 || top > maxLogprobs {
			return nil, outside("logprobs", top, 0, maxLogprobs)
		}
		params.TopLogprobs = top
		if c.echo {
			params.PromptLogprobs = top
		}
	}
	if c.prompts, _, err = parsePrompts(r.Context(), m, req.Prompt, "prompt", c.echo); err != nil {
		return nil, err
	}
	if err := checkChoices("n", len(c.prompts), c.n); err != nil {
		return nil, err
	}
	c.scores = make([]*messages.PromptOutput, len(c.prompts))
	c.choices = make([]choiceState, len(c.prompts)*c.n)
	base := s.submission(r.Context(), &req.scheduling)
	base.Stream, base.Continues = req.on(), true
	id := "cmpl-" + newID()
	subs, err := req.sampling.submissions(c.prompts, params, base, s.Seed)
	if err != nil {
		return nil, err
	}
	return &plan{
		served: served, subs: subs, grammar: req.chosen, rid: cmp.Or(req.RID, id), stream: req.on(),
		promptOnly: given(most.value, 1) == 0, prompts: c.prompts, copies: c.n, ignored: padding,
		answer: newOpenAIAnswer(r.Context(), s, m, id, "text_completion", c.n, &req.stream, c.take),
	}, nil
}

// take converts an output, usually into one choice. With echoed log probabilities the
// later choices of a prompt wait for the first one, which alone computes them.
func (p *completion) take(out *messages.CallOutput, send func(completionChoice)) {
	which := out.Index / p.n
	if !p.echo || !p.logprobs || p.scores[which] != nil {
		send(p.choice(out))
		return
	}
	state := &p.choices[out.Index]
	state.waiting = append(state.waiting, out)
	if out.Index%p.n != 0 || out.Prompt == nil && out.Finish == nil {
		return
	}
	p.scores[which] = cmp.Or(out.Prompt, &messages.PromptOutput{})
	for i := which * p.n; i < (which+1)*p.n; i++ {
		for _, held := range p.choices[i].waiting {
			send(p.choice(held))
		}
		p.choices[i].waiting = nil
	}
}

// choice converts one output; the first one of a choice has the echo.
func (p *completion) choice(out *messages.CallOutput) completionChoice {
	c := completionChoice{Index: out.Index, Text: out.Text}
	which, state := out.Index/p.n, &p.choices[out.Index]
	if p.logprobs {
		c.Logprobs = &textLogprobs{[]string{}, []float32{}, []map[string]float32{}, []int{}}
	}
	if p.echo && !state.started {
		echo := p.prompts[which].text
		c.Text = echo + c.Text
		if p.logprobs {
			state.offsets.chars = utf8.RuneCountInString(echo)
			c.Logprobs.prompt(p.model, p.prompts[which].ids, p.scores[which].Logprobs, state.offsets.chars)
		}
	}
	state.started = true
	if p.logprobs {
		c.Logprobs.output(p.model, out, &state.offsets)
	}
	if out.Finish != nil {
		c.FinishReason = finishWord(out.Finish)
	}
	return c
}
