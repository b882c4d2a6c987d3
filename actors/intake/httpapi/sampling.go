package httpapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/troupe-engine/troupe/messages"
)

// sampling are the parameters of every generating endpoint: OpenAI's and the extensions
// of SGLang and vLLM, under the same names. nil is "not given" or JSON's null.
type sampling struct {
	Temperature       *float64            `json:"temperature"`
	TopP              *float64            `json:"top_p"`
	TopK              *int                `json:"top_k"`
	MinP              *float64            `json:"min_p"`
	FrequencyPenalty  *float64            `json:"frequency_penalty"`
	PresencePenalty   *float64            `json:"presence_penalty"`
	RepetitionPenalty *float64            `json:"repetition_penalty"`
	RepeatPenalty     *float64            `json:"repeat_penalty"` // llama.cpp's and Ollama's name
	LogitBias         map[string]*float64 `json:"logit_bias"`
	Stop              stopList            `json:"stop"`
	StopTokenIDs      json.RawMessage     `json:"stop_token_ids"`
	IgnoreEOS         *bool               `json:"ignore_eos"`
	N                 *int                `json:"n"`
	Seed              *int64              `json:"seed"`          // -1: draw one
	RandomSeed        *int64              `json:"random_seed"`   // Mistral's name
	SamplingSeed      *int64              `json:"sampling_seed"` // SGLang's name
	MinTokens         *int                `json:"min_tokens"`
	MinNewTokens      *int                `json:"min_new_tokens"` // SGLang's name
	NoStopTrim        *bool               `json:"no_stop_trim"`
	IncludeStop       *bool               `json:"include_stop_str_in_output"` // vLLM's name
	SkipSpecialTokens *bool               `json:"skip_special_tokens"`
	NumCtx            *int                `json:"num_ctx"`          // Ollama's: tokens of prompt and output together
	DoSample          *bool               `json:"do_sample"`        // Hugging Face's: false chooses the likeliest token
	RepeatLastN       *int                `json:"repeat_last_n"`    // llama.cpp's and Ollama's: tokens that penalties count; -1: all
	PenalizeNL        *bool               `json:"penalize_nl"`      // llama.cpp's: penalties count newlines
	PenalizeNewline   *bool               `json:"penalize_newline"` // Ollama's name
	outputLimit
	constraint
}

// Bounds of parameters. n and the stop lists multiply work and memory.
const (
	maxChoices      = 128
	maxStops        = 64
	maxStopBytes    = 4096
	maxTopLogprobs  = 20
	maxLogprobs     = 5 // of a completion, from the API's description
	maxLogitBiases  = 4096
	maxStopTokenIDs = 256
	unlimitedTokens = 1 << 30
	smallestTopP    = 1e-9 // below it the likeliest token alone is left
)

// stopList is a string or a list of strings.
type stopList []string

func (s *stopList) UnmarshalJSON(data []byte) error {
	one := ""
	if json.Unmarshal(data, &one) == nil && string(data) != "null" {
		*s = stopList{one}
	} else if json.Unmarshal(data, (*[]string)(s)) != nil {
		return invalid("stop", `"stop" must be a string or an array of strings`)
	}
	return nil
}

// params checks the parameters and completes them with the model's defaults.
func (s *sampling) params(m *Model, most maxTokens, seed func() uint64) (*messages.SamplingParams, *apiError) {
	p := &messages.SamplingParams{
		EOSTokenIDs: m.EOS, IgnoreEOS: given(s.IgnoreEOS, false),
		TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs,
	}
	if err := s.unite(); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.numbers(p, m), s.counts(p, m.Defaults.TopK, most), s.stops(p, m), s.bias(p, m)); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.scope(p), s.choose(m, p)); err != nil {
		return nil, err
	}
	if s.Seed != nil {
		p.Seed = uint64(*s.Seed)
	} else {
		p.Seed = seed()
	}
	return p, nil
}

// numbers checks what is not an integer.
func (s *sampling) numbers(p *messages.SamplingParams, m *Model) *apiError {
	d := m.Defaults
	switch temperature := given(s.Temperature, 0); {
	case s.DoSample == nil:
	case *s.DoSample && s.Temperature == nil && d.Temperature == 0:
		return invalid("do_sample", "do_sample is true, but the default temperature of this model is 0; set temperature above 0")
	case !*s.DoSample && temperature > 0:
		return invalid("do_sample", "do_sample is false, but temperature is %v; set temperature to 0, or leave do_sample out", temperature)
	case !*s.DoSample:
		d.Temperature = 0
	}
	for _, f := range []struct {
		name      string
		into      *float32
		value     *float64
		fallback  float64
		low, high float64
		openLow   bool // low itself is out
	}{
		{"temperature", &p.Temperature, s.Temperature, d.Temperature, 0, 2, false},
		{"top_p", &p.TopP, s.TopP, d.TopP, 0, 1, false},
		{"min_p", &p.MinP, s.MinP, d.MinP, 0, 1, false},
		{"frequency_penalty", &p.FrequencyPenalty, s.FrequencyPenalty, 0, -2, 2, false},
		{"presence_penalty", &p.PresencePenalty, s.PresencePenalty, 0, -2, 2, false},
		{"repetition_penalty", &p.RepetitionPenalty, s.RepetitionPenalty, d.RepetitionPenalty, 0, 2, true},
	} {
		v := given(f.value, f.fallback)
		*f.into = float32(v)
		switch {
		case f.openLow && !(*f.into > float32(f.low) && v <= f.high):
			return invalid(f.name, "%s is %v; it must be above %v and at most %v", f.name, v, own(f.low), own(f.high))
		case !f.openLow && !(v >= f.low && v <= f.high):
			return invalid(f.name, "%s is %v; it must be between %v and %v", f.name, v, own(f.low), own(f.high))
		}
	}
	return nil
}

// scope refuses to penalise only some of the tokens. It changes nothing if there is no
// penalty.
func (s *sampling) scope(p *messages.SamplingParams) *apiError {
	switch {
	case p.RepetitionPenalty == 1 && p.FrequencyPenalty == 0 && p.PresencePenalty == 0:
	case given(s.RepeatLastN, -1) != -1:
		return unsupported("repeat_last_n", "leave it out; penalties count the whole output, and repetition_penalty also the prompt")
	case !given(s.PenalizeNL, true):
		return unsupported("penalize_nl", "leave it out; use logit_bias for the newline token")
	case !given(s.PenalizeNewline, true):
		return unsupported("penalize_newline", "leave it out; use logit_bias for the newline token")
	}
	return nil
}

// counts checks the integers.
func (s *sampling) counts(p *messages.SamplingParams, topK int, most maxTokens) *apiError {
	topK = given(s.TopK, topK)
	if topK < -1 {
		return invalid("top_k", "top_k is %d; it must be at least 1, or 0 or -1 to keep every token", topK)
	}
	p.TopK = int32(min(max(topK, 0), 1<<30))
	if p.TopP < smallestTopP { // the smallest nucleus is the likeliest token
		p.TopP, p.TopK = 1, 1
	}
	if n := s.choices(); n < 1 || n > maxChoices {
		return outside("n", n, 1, maxChoices)
	}
	limit := given(most.value, unlimitedTokens)
	if limit < most.least {
		return invalid(most.name, "%s is %d; it must be at least %d", most.name, limit, own(most.least))
	}
	p.MaxTokens, p.MinTokens = min(max(limit, 1), unlimitedTokens), given(s.MinTokens, 0)
	if p.MinTokens < 0 || p.MinTokens > p.MaxTokens {
		return invalid("min_tokens", "min_tokens is %d; it must be between 0 and %d, the maximum number of output tokens", p.MinTokens, p.MaxTokens)
	}
	return nil
}

func (s *sampling) stops(p *messages.SamplingParams, m *Model) *apiError {
	if len(s.Stop) > maxStops {
		return invalid("stop", `"stop" has %d strings; at most %d are allowed`, own(len(s.Stop)), own(maxStops))
	}
	for _, stop := range s.Stop {
		if stop == "" || len(stop) > maxStopBytes {
			return invalid("stop", "a stop string has %d bytes; it must have between 1 and %d", own(len(stop)), own(maxStopBytes))
		}
	}
	if isNull(s.StopTokenIDs) {
		return nil
	}
	ids, count, err := parseIDs(m, s.StopTokenIDs, "stop_token_ids", maxStopTokenIDs)
	if err != nil {
		return err
	}
	if count > maxStopTokenIDs {
		return invalid("stop_token_ids", "stop_token_ids has %d ids; at most %d are allowed", own(count), own(maxStopTokenIDs))
	}
	p.StopTokenIDs = ids
	return nil
}

// bias checks and sorts logit_bias.
func (s *sampling) bias(p *messages.SamplingParams, m *Model) *apiError {
	if len(s.LogitBias) > maxLogitBiases {
		return invalid("logit_bias", "logit_bias has %d entries; at most %d are allowed", own(len(s.LogitBias)), own(maxLogitBiases))
	}
	for key, bias := range s.LogitBias {
		id, err := strconv.ParseInt(key, 10, 32)
		switch {
		case err != nil || id < 0 || int(id) >= m.Tokenizer.VocabSize():
			return invalid("logit_bias", "logit_bias has the key %q; its keys are token ids between 0 and %d", clip(key, 64), own(m.Tokenizer.VocabSize()-1))
		case bias == nil:
			return invalid("logit_bias", "logit_bias of token %d is null; it must be a number between -100 and 100", id)
		case !(*bias >= -100 && *bias <= 100):
			return invalid("logit_bias", "logit_bias of token %d is %v; it must be between -100 and 100", id, *bias)
		}
		p.LogitBias = append(p.LogitBias, messages.TokenBias{Token: int32(id), Bias: float32(*bias)})
	}
	slices.SortFunc(p.LogitBias, func(a, b messages.TokenBias) int { return int(a.Token) - int(b.Token) })
	for i := 1; i < len(p.LogitBias); i++ {
		if p.LogitBias[i].Token == p.LogitBias[i-1].Token { // "7" and "07"
			return invalid("logit_bias", "token %d appears twice in logit_bias; remove one", p.LogitBias[i].Token)
		}
	}
	return nil
}

func (s *sampling) choices() int { return given(s.N, 1) }

// submissions makes one submission per prompt and choice, choice by choice within a
// prompt. Later choices wait for the first one and share its prefill. Without a
// client's seed each prompt draws one, so that equal prompts get different answers.
func (s *sampling) submissions(prompts []prompt, p *messages.SamplingParams, base messages.Submission, seed func() uint64) ([]messages.Submission, *apiError) {
	n := s.choices()
	subs := make([]messages.Submission, 0, len(prompts)*n)
	base.Stop = s.Stop
	base.KeepStop = given(s.NoStopTrim, false)
	base.KeepSpecial = !given(s.SkipSpecialTokens, true)
	// A grammar has a space at the beginning only if it is meant.
	base.Continues = base.Continues || p.Grammar != nil
	own := *p
	p = &own
	for i := range prompts {
		if i > 0 && s.Seed == nil {
			p.Seed = seed()
		}
		limited, err := s.within(p, len(prompts[i].ids))
		if err != nil {
			return nil, err
		}
		for choice := range n {
			sub, params := base, limited
			params.Choice = uint32(choice)
			sub.Prompt, sub.Params, sub.After = prompts[i].ids, &params, -1
			if choice > 0 {
				sub.After = i * n
				params.PromptLogprobs = messages.NoLogprobs
			}
			subs = append(subs, sub)
		}
	}
	return subs, nil
}
