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
	accounting
	refusable
	stream
	scheduling
	Model     string     `json:"model"`
	Prompt    promptJSON `json:"prompt"`
	MaxTokens *int       `json:"max_tokens"`
	Logprobs  *int       `json:"logprobs"`
	Echo      *bool      `json:"echo"`
	RID       string     `json:"rid"`
}

// maxCompletionLogprobs is the API's own bound.
const maxCompletionLogprobs = 5

// completionResponse is the answer and, as the API has it, also a chunk.
type completionResponse struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	Created     int64              `json:"created"`
	Model       string             `json:"model"`
	Fingerprint string             `json:"system_fingerprint,omitempty"`
	Choices     []completionChoice `json:"choices"`
	Usage       any                `json:"usage,omitempty"` // *usage; nil leaves it out, a nil *usage is null
}

// completionChoice is a choice. The API's description gives finish_reason no
// null, but its server sends null until the end, as this one does: any of the
// words would end the stream in a client's eyes.
type completionChoice struct {
	Index        int           `json:"index"`
	Text         string        `json:"text"`
	Logprobs     *textLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
}

// completion is a prepared call: what its outputs need to become choices.
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

func (s *Server) completions(w http.ResponseWriter, r *http.Request) *apiError {
	var req completionRequest
	job, err := s.decode(w, r, &req)
	if err != nil {
		return err
	}
	defer job.end()
	subs, p, err := s.prepareCompletion(r, &req)
	if err != nil {
		return err
	}
	if err := s.prepared(job, subs, p.prompts, p.n, "n"); err != nil {
		return err
	}
	id := "cmpl-" + newID()
	c, err := s.begin(r.Context(), orElse(req.RID, id), subs)
	if err != nil {
		return err
	}
	c.promptOnly = req.MaxTokens != nil && *req.MaxTokens == 0
	head := completionResponse{ID: id, Object: "text_completion", Created: s.Now().Unix(), Model: s.Model.ID, Fingerprint: s.fingerprint()}
	if req.on() {
		return s.streamCompletion(w, r, c, p, head, req.includeUsage())
	}
	outputs, err := c.collect(r.Context())
	if err != nil {
		return err
	}
	total := &usage{}
	for i, out := range outputs {
		total.add(out.Usage, i%p.n == 0)
		head.Choices = append(head.Choices, p.take(out)...)
	}
	head.Usage = total
	writeJSON(w, http.StatusOK, head)
	return nil
}

func (s *Server) prepareCompletion(r *http.Request, req *completionRequest) ([]messages.Submission, *completion, *apiError) {
	if err := firstOf(s.checkModel(req.Model), refuseSet("", req.refusable), req.stream.check()); err != nil {
		return nil, nil, err
	}
	params, err := req.sampling.params(&s.Model, maxTokens{"max_tokens", req.MaxTokens, 0}, s.Seed)
	if err != nil {
		return nil, nil, err
	}
	p := &completion{model: &s.Model, n: req.choices(), logprobs: req.Logprobs != nil, echo: req.Echo != nil && *req.Echo}
	if req.Logprobs != nil {
		if *req.Logprobs < 0 || *req.Logprobs > maxCompletionLogprobs {
			return nil, nil, outside("logprobs", *req.Logprobs, 0, maxCompletionLogprobs)
		}
		params.TopLogprobs = *req.Logprobs
		if p.echo {
			params.PromptLogprobs = *req.Logprobs
		}
	}
	if p.prompts, _, err = parsePrompts(r.Context(), &s.Model, req.Prompt, "prompt", p.echo); err != nil {
		return nil, nil, err
	}
	if err := checkChoices("n", len(p.prompts), p.n); err != nil {
		return nil, nil, err
	}
	p.scores = make([]*messages.PromptOutput, len(p.prompts))
	p.choices = make([]choiceState, len(p.prompts)*p.n)
	base := s.submission(r.Context(), &req.scheduling, req.User)
	base.Stream, base.Continues = req.on(), true
	return req.sampling.submissions(p.prompts, params, base, s.Seed), p, nil
}

// take turns an output into choices: usually one. With echoed log probabilities
// the later choices of a prompt wait for those of its first one, which alone
// computes them.
func (p *completion) take(out *messages.CallOutput) []completionChoice {
	which := out.Index / p.n
	state := &p.choices[out.Index]
	if p.echo && p.logprobs && p.scores[which] == nil {
		state.waiting = append(state.waiting, out)
		if out.Index%p.n != 0 || out.Prompt == nil && out.Finish == nil {
			return nil
		}
		p.scores[which] = cmp.Or(out.Prompt, &messages.PromptOutput{})
		var all []completionChoice
		for i := which * p.n; i < (which+1)*p.n; i++ {
			for _, held := range p.choices[i].waiting {
				all = append(all, p.choice(held))
			}
			p.choices[i].waiting = nil
		}
		return all
	}
	return []completionChoice{p.choice(out)}
}

// choice is one output as a choice; the first of a choice brings the echo.
func (p *completion) choice(out *messages.CallOutput) completionChoice {
	c := completionChoice{Index: out.Index, Text: out.Text}
	which, state, base := out.Index/p.n, &p.choices[out.Index], 0
	if p.logprobs {
		c.Logprobs = newTextLogprobs()
	}
	if p.echo {
		echo := p.prompts[which].text
		base = utf8.RuneCountInString(echo)
		if !state.started {
			c.Text = echo + c.Text
			if p.logprobs {
				c.Logprobs.prompt(p.model, p.prompts[which].ids, p.scores[which].Logprobs, base)
			}
		}
	}
	state.started = true
	if p.logprobs {
		c.Logprobs.output(p.model, out, &state.offsets, base)
	}
	if out.Finish != nil {
		c.FinishReason = finishWord(out.Finish)
	}
	return c
}

func (s *Server) streamCompletion(w http.ResponseWriter, r *http.Request, c *call, p *completion, head completionResponse, withUsage bool) *apiError {
	total := &usage{}
	if withUsage {
		head.Usage = (*usage)(nil)
	}
	return s.stream(w, r, c, func(events *sse, out *messages.CallOutput) {
		if out.Finish != nil {
			total.add(out.Usage, out.Index%p.n == 0)
		}
		for _, choice := range p.take(out) {
			chunk := head
			chunk.Choices = []completionChoice{choice}
			events.add(chunk)
		}
	}, func(events *sse) {
		if withUsage {
			head.Choices, head.Usage = []completionChoice{}, total
			events.add(head)
		}
	})
}
