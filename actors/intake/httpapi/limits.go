package httpapi

import "github.com/troupe-engine/troupe/messages"

// outputLimit is the maximum number of output tokens, under the names that servers have for
// it. A client may send several of them if they are equal.
type outputLimit struct {
	MaxTokens    *int `json:"max_tokens"`
	MaxNewTokens *int `json:"max_new_tokens"` // SGLang's and TGI's name
	NumPredict   *int `json:"num_predict"`    // Ollama's; -1 and -2: no limit
	NPredict     *int `json:"n_predict"`      // llama.cpp's; -1 and -2: no limit
}

// maxTokens is the output limit under the name that a client has used for it.
type maxTokens struct {
	name  string
	value *int // nil: as many as fit
	least int  // 0 where a client may ask for the prompt alone
}

// named is a limit with its name.
type named struct {
	name  string
	value *int
}

// max returns the limit. own are further names of the endpoint, which errors prefer.
func (l *outputLimit) max(least int, own ...named) (maxTokens, *apiError) {
	most := maxTokens{"max_tokens", nil, least}
	for _, one := range append([]named{{"max_tokens", l.MaxTokens}, {"max_new_tokens", l.MaxNewTokens},
		{"num_predict", fills(l.NumPredict)}, {"n_predict", fills(l.NPredict)}}, own...) {
		if one.value == nil {
			continue
		}
		if err := differ("", most.name, most.value, one.name, one.value); err != nil {
			return most, err
		}
		most.name, most.value = one.name, one.value
	}
	most.value = unlimited(most.value)
	return most, nil
}

// unlimited is a limit without the value -1, which means no limit to llama.cpp and Ollama.
func unlimited(limit *int) *int {
	if limit != nil && *limit == -1 {
		return nil
	}
	return limit
}

// fills converts -2, which means "until the context is full": no other limit than that.
func fills(limit *int) *int {
	if limit != nil && *limit == -2 {
		return new(-1)
	}
	return limit
}

// unite gives each parameter that has several names its value.
func (s *sampling) unite() *apiError {
	if err := differ("", "repetition_penalty", s.RepetitionPenalty, "repeat_penalty", s.RepeatPenalty); err != nil {
		return err
	}
	if err := differ("", "seed", s.Seed, "random_seed", s.RandomSeed); err != nil {
		return err
	}
	if err := differ("", "no_stop_trim", s.NoStopTrim, "include_stop_str_in_output", s.IncludeStop); err != nil {
		return err
	}
	if s.NumCtx != nil && *s.NumCtx < 1 {
		return invalid("num_ctx", "num_ctx is %d; it must be at least 1", *s.NumCtx)
	}
	s.RepetitionPenalty, s.Seed, s.NoStopTrim = or(s.RepetitionPenalty, s.RepeatPenalty), or(s.Seed, s.RandomSeed), or(s.NoStopTrim, s.IncludeStop)
	return nil
}

// or is the first of two optional parameters that is given.
func or[T any](first, second *T) *T {
	if first != nil {
		return first
	}
	return second
}

// within limits the output so that it fits into num_ctx together with the prompt. Results
// do not depend on the size of the context, so num_ctx changes nothing else.
func (s *sampling) within(p *messages.SamplingParams, prompt int) (messages.SamplingParams, *apiError) {
	limited := *p
	if s.NumCtx == nil {
		return limited, nil
	}
	room := *s.NumCtx - prompt
	if room < 1 {
		return limited, invalid("num_ctx", "the prompt has %d tokens and leaves no room for output in num_ctx, which is %d; shorten the prompt or raise num_ctx",
			own(prompt), *s.NumCtx).coded(codeTooLong)
	}
	limited.MaxTokens = min(limited.MaxTokens, room)
	limited.MinTokens = min(limited.MinTokens, limited.MaxTokens)
	return limited, nil
}
