package httpapi

import (
	"cmp"
	"net/http"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// generateRequest is the body of /generate, SGLang's native endpoint.
type generateRequest struct {
	scheduling
	Text            promptJSON `json:"text"`
	InputIDs        promptJSON `json:"input_ids"`
	SamplingParams  *sampling  `json:"sampling_params"`
	Options         *sampling  `json:"options"` // Ollama's place for sampling parameters
	RID             string     `json:"rid"`
	Stream          *bool      `json:"stream"`
	ReturnLogprob   *bool      `json:"return_logprob"`
	LogprobStartLen *int       `json:"logprob_start_len"`
	TopLogprobsNum  *int       `json:"top_logprobs_num"`
	ReturnText      *bool      `json:"return_text_in_logprobs"`
}

// gatewayRequest is the body of /generate at a gateway. SGLang has no parameter for the
// model, since its server has one.
type gatewayRequest struct {
	generateRequest
	Model string `json:"model"`
}

func (s *Server) prepareGenerate(r *http.Request, req *generateRequest) (*plan, *apiError) {
	return s.generatePlan(r, "", req)
}

func (s *Server) prepareGatewayGenerate(r *http.Request, req *gatewayRequest) (*plan, *apiError) {
	return s.generatePlan(r, req.Model, &req.generateRequest)
}

func (s *Server) generatePlan(r *http.Request, model string, req *generateRequest) (*plan, *apiError) {
	ctx := r.Context()
	served, err := s.reachForCall(model)
	if err != nil {
		return nil, err
	}
	native := cmp.Or(req.SamplingParams, &sampling{})
	if err := native.merge("options", req.Options); err != nil {
		return nil, err
	}
	m := &served.Model
	most, err := native.max(0)
	var params *messages.SamplingParams
	if err == nil {
		params, err = native.params(m, most, s.Seed)
	}
	if err != nil {
		return nil, err.about("sampling_params." + err.Param)
	}
	g := &generation{model: m, rid: cmp.Or(req.RID, newID()), now: s.Now, start: s.Now(), withText: given(req.ReturnText, false)}
	if err := g.logprobParams(req, params); err != nil {
		return nil, err
	}
	source, name := req.Text, "text"
	switch {
	case !isNull(req.Text) && !isNull(req.InputIDs):
		return nil, invalid("input_ids", `"text" and input_ids are both given; send one of them`)
	case !isNull(req.InputIDs):
		source, name = req.InputIDs, "input_ids"
		if source[0] != '[' {
			return nil, invalid("input_ids", "input_ids must be an array of token ids, or an array of such arrays")
		}
	case !isNull(req.Text) && isIDs(req.Text):
		return nil, invalid("text", `"text" must be a string or an array of strings; token ids go into input_ids`)
	}
	if g.prompts, g.list, err = parsePrompts(ctx, m, source, name, false); err != nil {
		return nil, err
	}
	g.n = native.choices()
	g.list = g.list || g.n > 1
	if err := checkChoices("sampling_params.n", len(g.prompts), g.n); err != nil {
		return nil, err
	}
	base := s.submission(ctx, &req.scheduling)
	base.Stream, base.Continues = given(req.Stream, false), true
	subs, err := native.submissions(g.prompts, params, base, s.Seed)
	if err != nil {
		return nil, err.about("sampling_params." + err.Param)
	}
	p := &plan{served: served, subs: subs, grammar: native.chosen, within: "sampling_params.", rid: g.rid, stream: base.Stream, answer: g,
		promptOnly: given(most.value, 1) == 0, abortIsResult: true, copies: 1,
		names: map[string]string{"prompt": name, "max_tokens": "sampling_params.max_new_tokens", "n": "sampling_params.n"}}
	g.answers = make([]generateResponse, len(p.subs))
	return p, nil
}

func (g *generation) logprobParams(req *generateRequest, p *messages.SamplingParams) *apiError {
	g.logprobs = given(req.ReturnLogprob, false)
	g.top = given(req.TopLogprobsNum, 0)
	if g.top < 0 || g.top > maxTopLogprobs {
		return outside("top_logprobs_num", g.top, 0, maxTopLogprobs)
	}
	start := given(req.LogprobStartLen, -1)
	switch {
	case start < -1:
		return invalid("logprob_start_len", "logprob_start_len is %d; it must be a position in the prompt, or -1 (log probabilities of the output only)", start)
	case !g.logprobs && g.top > 0:
		return invalid("top_logprobs_num", "top_logprobs_num requires return_logprob: true")
	case !g.logprobs && start >= 0:
		return invalid("logprob_start_len", "logprob_start_len requires return_logprob: true")
	case !g.logprobs:
		return nil
	}
	p.TopLogprobs, g.startLen = g.top, start
	if start >= 0 {
		p.PromptLogprobs, p.PromptLogprobStart = g.top, start
	}
	return nil
}

type generateResponse struct {
	Text      string       `json:"text"`
	OutputIDs []int32      `json:"output_ids"`
	Meta      generateMeta `json:"meta_info"`
}

// generateMeta is meta_info. The lists are there if they were requested.
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

func (g *generation) last(*sse) {}

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
