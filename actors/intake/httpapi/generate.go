package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/troupe-engine/troupe/messages"
)

// generateRequest is the body of /generate, SGLang's native endpoint.
type generateRequest struct {
	scheduling
	refusableNative
	User            *string         `json:"user"`
	Text            promptJSON      `json:"text"`
	InputIDs        promptJSON      `json:"input_ids"`
	SamplingParams  json.RawMessage `json:"sampling_params"`
	RID             string          `json:"rid"`
	Stream          *bool           `json:"stream"`
	ReturnLogprob   *bool           `json:"return_logprob"`
	LogprobStartLen *int            `json:"logprob_start_len"`
	TopLogprobsNum  *int            `json:"top_logprobs_num"`
	ReturnText      *bool           `json:"return_text_in_logprobs"`
}

// nativeSampling are SGLang's names for the shared parameters.
type nativeSampling struct {
	sampling
	refusableSampling
	MaxNewTokens *int   `json:"max_new_tokens"` // 0 computes the prompt alone
	MinNewTokens *int   `json:"min_new_tokens"`
	SamplingSeed *int64 `json:"sampling_seed"`
	// Spaces has an effect with Hugging Face's slow tokenizers only; the value
	// true is their default and asks for nothing.
	Spaces *bool `json:"spaces_between_special_tokens"`
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request) *apiError {
	var req generateRequest
	job, err := s.decode(w, r, &req)
	if err != nil {
		return misplaced(err)
	}
	defer job.end()
	subs, g, err := s.prepareGenerate(r.Context(), &req)
	if err != nil {
		return err
	}
	if err := s.prepared(job, subs, nil, 1, "sampling_params.n"); err != nil {
		return err
	}
	c, err := s.begin(r.Context(), g.rid, subs)
	if err != nil {
		return err.named("prompt", g.source).named("max_tokens", "sampling_params.max_new_tokens")
	}
	c.promptOnly, c.abortIsResult = g.promptOnly, true
	g.answers = make([]generateResponse, len(subs))
	if req.Stream != nil && *req.Stream {
		return s.stream(w, r, c, func(events *sse, out *messages.CallOutput) {
			g.append(out, s.Now())
			events.add(g.event(out.Index))
		}, nil)
	}
	outputs, err := c.collect(r.Context())
	if err != nil {
		return err
	}
	for _, out := range outputs {
		g.append(out, s.Now())
	}
	if g.list {
		writeJSON(w, http.StatusOK, g.answers)
	} else {
		writeJSON(w, http.StatusOK, g.answers[0])
	}
	return nil
}

// prepareGenerate turns a checked body into submissions.
func (s *Server) prepareGenerate(ctx context.Context, req *generateRequest) ([]messages.Submission, *generation, *apiError) {
	native, err := req.sampling(ctx)
	if err != nil {
		return nil, nil, err
	}
	params, err := native.params(&s.Model, maxTokens{"max_new_tokens", native.MaxNewTokens, 0}, s.Seed)
	if err != nil {
		err.Param = "sampling_params." + err.Param
		return nil, nil, err
	}
	g := &generation{model: &s.Model, rid: orElse(req.RID, newID()), start: s.Now(), withText: req.ReturnText != nil && *req.ReturnText,
		promptOnly: native.MaxNewTokens != nil && *native.MaxNewTokens == 0}
	if err := g.logprobParams(req, params); err != nil {
		return nil, nil, err
	}
	source := req.Text
	g.source = "text"
	switch {
	case !isNull(req.Text) && !isNull(req.InputIDs):
		return nil, nil, invalid("input_ids", "text and input_ids are both given; send one of them")
	case !isNull(req.InputIDs):
		source, g.source = req.InputIDs, "input_ids"
		if source[0] != '[' {
			return nil, nil, invalid("input_ids", "input_ids must be an array of token ids, or an array of such arrays")
		}
	case !isNull(req.Text) && isIDs(req.Text):
		return nil, nil, invalid("text", "text must be a string or an array of strings; token ids go into input_ids")
	}
	if g.prompts, g.list, err = parsePrompts(ctx, &s.Model, source, g.source, false); err != nil {
		return nil, nil, err
	}
	n := native.choices()
	g.list = g.list || n > 1
	if err := checkChoices("sampling_params.n", len(g.prompts), n); err != nil {
		return nil, nil, err
	}
	g.n = n
	base := s.submission(ctx, &req.scheduling, req.User)
	base.Stream, base.Continues = req.Stream != nil && *req.Stream, true
	return native.submissions(g.prompts, params, base, s.Seed), g, nil
}

// sampling reads sampling_params.
func (req *generateRequest) sampling(ctx context.Context) (*nativeSampling, *apiError) {
	native := &nativeSampling{}
	if raw := req.SamplingParams; !isNull(raw) {
		if raw[0] != '{' {
			return nil, invalid("sampling_params", "sampling_params must be an object")
		}
		if err := unmarshal(ctx, raw, native); err != nil {
			err = misplacedDeep(err)
			if err.Param != "" {
				err.Param = "sampling_params." + err.Param
			}
			err.Message = "sampling_params: " + err.Message
			return nil, err
		}
	}
	if native.MinNewTokens != nil {
		if err := differ("sampling_params.", "min_tokens", native.MinTokens, "min_new_tokens", native.MinNewTokens); err != nil {
			return nil, err
		}
		native.MinTokens = native.MinNewTokens
	}
	if native.SamplingSeed != nil {
		if err := differ("sampling_params.", "seed", native.Seed, "sampling_seed", native.SamplingSeed); err != nil {
			return nil, err
		}
		native.Seed = native.SamplingSeed
	}
	if native.Spaces != nil && !*native.Spaces {
		return nil, unsupported("sampling_params.spaces_between_special_tokens", "leave it out or send true")
	}
	return native, firstOf(
		refuseSet("sampling_params.", native.refusableSampling),
		refuseSet("", req.refusableNative))
}

// logprobParams reads what is asked about probabilities.
func (g *generation) logprobParams(req *generateRequest, p *messages.SamplingParams) *apiError {
	g.logprobs = req.ReturnLogprob != nil && *req.ReturnLogprob
	if req.TopLogprobsNum != nil {
		g.top = *req.TopLogprobsNum
	}
	if g.top < 0 || g.top > maxTopLogprobs {
		return outside("top_logprobs_num", g.top, 0, maxTopLogprobs)
	}
	start := -1
	if req.LogprobStartLen != nil {
		start = *req.LogprobStartLen
	}
	switch {
	case start < -1:
		return invalid("logprob_start_len", "logprob_start_len is %d; it must be a position in the prompt, or -1 for output only", start)
	case !g.logprobs && g.top > 0:
		return invalid("top_logprobs_num", "top_logprobs_num needs return_logprob: true")
	case !g.logprobs && start >= 0:
		return invalid("logprob_start_len", "logprob_start_len needs return_logprob: true")
	case !g.logprobs:
		return nil
	}
	p.TopLogprobs, g.startLen = g.top, start
	if start >= 0 {
		p.PromptLogprobs, p.PromptLogprobStart = g.top, start
	}
	return nil
}
