package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

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
	// Spaces has an effect only with Hugging Face's slow tokenizers; true is their
	// default.
	Spaces *bool `json:"spaces_between_special_tokens"`
}

// prepareGenerate turns a checked body into a plan.
func (s *Server) prepareGenerate(r *http.Request, req *generateRequest) (*plan, *apiError) {
	ctx := r.Context()
	native, err := req.sampling(ctx)
	if err != nil {
		return nil, err
	}
	params, err := native.params(&s.Model, maxTokens{"max_new_tokens", native.MaxNewTokens, 0}, s.Seed)
	if err != nil {
		return nil, err.within("sampling_params.")
	}
	g := &generation{model: &s.Model, rid: cmp.Or(req.RID, newID()), now: s.Now, start: s.Now(), withText: given(req.ReturnText, false)}
	if err := g.logprobParams(req, params); err != nil {
		return nil, err
	}
	source, name := req.Text, "text"
	switch {
	case !isNull(req.Text) && !isNull(req.InputIDs):
		return nil, invalid("input_ids", "text and input_ids are both given; send one of them")
	case !isNull(req.InputIDs):
		source, name = req.InputIDs, "input_ids"
		if source[0] != '[' {
			return nil, invalid("input_ids", "input_ids must be an array of token ids, or an array of such arrays")
		}
	case !isNull(req.Text) && isIDs(req.Text):
		return nil, invalid("text", "text must be a string or an array of strings; token ids go into input_ids")
	}
	if g.prompts, g.list, err = parsePrompts(ctx, &s.Model, source, name, false); err != nil {
		return nil, err
	}
	g.n = native.choices()
	g.list = g.list || g.n > 1
	if err := checkChoices("sampling_params.n", len(g.prompts), g.n); err != nil {
		return nil, err
	}
	base := s.submission(ctx, &req.scheduling, req.User)
	base.Stream, base.Continues = given(req.Stream, false), true
	p := &plan{subs: native.submissions(g.prompts, params, base, s.Seed), rid: g.rid, stream: base.Stream, answer: g,
		promptOnly: given(native.MaxNewTokens, 1) == 0, abortIsResult: true, copies: 1,
		names: map[string]string{"prompt": name, "max_tokens": "sampling_params.max_new_tokens", "n": "sampling_params.n"}}
	g.answers = make([]generateResponse, len(p.subs))
	return p, nil
}

// sampling reads sampling_params.
func (req *generateRequest) sampling(ctx context.Context) (*nativeSampling, *apiError) {
	native := &nativeSampling{}
	if raw := req.SamplingParams; !isNull(raw) {
		if raw[0] != '{' {
			return nil, invalid("sampling_params", "sampling_params must be an object")
		}
		if err := unmarshal(ctx, raw, native); err != nil {
			if err.Param != "" {
				err = err.within("sampling_params.")
			}
			err.Message = "sampling_params: " + err.Message
			return nil, err
		}
	}
	if err := cmp.Or(
		differ("sampling_params.", "min_tokens", native.MinTokens, "min_new_tokens", native.MinNewTokens),
		differ("sampling_params.", "seed", native.Seed, "sampling_seed", native.SamplingSeed)); err != nil {
		return nil, err
	}
	native.MinTokens = cmp.Or(native.MinNewTokens, native.MinTokens)
	native.Seed = cmp.Or(native.SamplingSeed, native.Seed)
	if !given(native.Spaces, true) {
		return nil, unsupported("sampling_params.spaces_between_special_tokens", "leave it out or send true")
	}
	return native, cmp.Or(
		refuseSet("sampling_params.", native.refusableSampling),
		refuseSet("", req.refusableNative))
}

// logprobParams reads what is asked about probabilities.
func (g *generation) logprobParams(req *generateRequest, p *messages.SamplingParams) *apiError {
	g.logprobs = given(req.ReturnLogprob, false)
	g.top = given(req.TopLogprobsNum, 0)
	if g.top < 0 || g.top > maxTopLogprobs {
		return outside("top_logprobs_num", g.top, 0, maxTopLogprobs)
	}
	start := given(req.LogprobStartLen, -1)
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

// unknown implements unknownNamer: SGLang has parameters one level deeper.
func (*generateRequest) unknown(err *apiError) *apiError {
	name, deeper := clip(err.Param, 64), fieldNames(reflect.TypeFor[nativeSampling]())
	if _, known := fieldsOf(reflect.TypeFor[refusableSampling]())[err.Param]; known {
		return unsupported(name, "leave it out")
	}
	if slices.Contains(deeper, err.Param) {
		return err.say(`%s is a sampling parameter; put it in sampling_params, as in {"sampling_params": {"%s": …}}`, name, name)
	}
	// A name that is near to one of this level has been suggested that.
	if didYouMean(err.Param, fieldNames(reflect.TypeFor[generateRequest]())) == "" {
		if near := didYouMean(err.Param, deeper); near != "" {
			err.say("%s is not a parameter of this endpoint; put sampling parameters in sampling_params%s", name, own(near))
		}
	}
	return err
}

// unknown implements unknownNamer.
func (*nativeSampling) unknown(err *apiError) *apiError {
	if slices.Contains(fieldNames(reflect.TypeFor[generateRequest]()), err.Param) {
		err.say("%s is not a sampling parameter; put it beside sampling_params, not in it", clip(err.Param, 64))
	}
	return err
}
