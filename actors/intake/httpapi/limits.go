package httpapi

import (
	"cmp"
	"reflect"

	"github.com/troupe-engine/troupe/messages"
)

// outputLimit is the maximum number of output tokens, under the names that servers have for
// it. A client may send several of them if they are equal.
type outputLimit struct {
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"` // OpenAI's newer name
	MaxNewTokens        *int `json:"max_new_tokens"`        // SGLang's and TGI's name
	NumPredict          *int `json:"num_predict"`           // Ollama's; -1 and -2: no limit
	NPredict            *int `json:"n_predict"`             // llama.cpp's; -1 and -2: no limit
}

// maxTokens is the output limit under the name that a client has used for it.
type maxTokens struct {
	name  string
	value *int // nil: as many as fit
	least int  // 0 where a client may ask for the prompt alone
}

// max returns the limit. A name with the value of "no limit" changes nothing beside others.
func (l *outputLimit) max(least int) (maxTokens, *apiError) {
	most := maxTokens{"max_tokens", nil, least}
	for _, one := range []struct {
		name   string
		value  *int
		lowest int // this value up to -1: no limit
	}{
		{"max_tokens", l.MaxTokens, -1}, {"max_completion_tokens", l.MaxCompletionTokens, -1}, {"max_new_tokens", l.MaxNewTokens, -1},
		// -2 means "until the context is full", which is no other limit than -1.
		{"num_predict", l.NumPredict, -2}, {"n_predict", l.NPredict, -2},
	} {
		if one.value == nil || *one.value < 0 && *one.value >= one.lowest {
			continue
		}
		if err := differ(most.name, most.value, one.name, one.value); err != nil {
			return most, err
		}
		most.name, most.value = one.name, one.value
	}
	return most, nil
}

// unite gives each parameter that has several names its value.
func (s *sampling) unite() *apiError {
	s.Seed, s.RandomSeed, s.SamplingSeed = fixed(s.Seed), fixed(s.RandomSeed), fixed(s.SamplingSeed)
	if err := cmp.Or(
		differ("repetition_penalty", s.RepetitionPenalty, "repeat_penalty", s.RepeatPenalty),
		differ("seed", s.Seed, "random_seed", s.RandomSeed),
		differ("seed", s.Seed, "sampling_seed", s.SamplingSeed),
		differ("random_seed", s.RandomSeed, "sampling_seed", s.SamplingSeed),
		differ("min_tokens", s.MinTokens, "min_new_tokens", s.MinNewTokens),
		differ("no_stop_trim", s.NoStopTrim, "include_stop_str_in_output", s.IncludeStop),
	); err != nil {
		return err
	}
	if s.NumCtx != nil && *s.NumCtx < 1 {
		return invalid("num_ctx", "num_ctx is %d; it must be at least 1", *s.NumCtx)
	}
	s.RepetitionPenalty, s.Seed = cmp.Or(s.RepetitionPenalty, s.RepeatPenalty), cmp.Or(s.Seed, s.RandomSeed, s.SamplingSeed)
	s.MinTokens, s.NoStopTrim = cmp.Or(s.MinTokens, s.MinNewTokens), cmp.Or(s.NoStopTrim, s.IncludeStop)
	return nil
}

// fixed is a seed without the value -1, with which llama.cpp and vLLM draw one.
func fixed(seed *int64) *int64 {
	if seed != nil && *seed == -1 {
		return nil
	}
	return seed
}

// merge adds the parameters of an object of the body, such as Ollama's options, to those
// of the body itself. path is where the object is.
func (s *sampling) merge(path string, more *sampling) *apiError {
	if more == nil {
		return nil
	}
	into, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(more).Elem()
	for _, f := range reflect.VisibleFields(into.Type()) {
		name, value, here := jsonName(f), from.FieldByIndex(f.Index), into.FieldByIndex(f.Index)
		switch {
		case name == "" || value.IsZero():
		case here.IsZero():
			here.Set(value)
		case !reflect.DeepEqual(here.Interface(), value.Interface()):
			return invalid(path+"."+name, "%s and %s are both given and differ; send one of them", name, path+"."+name)
		}
	}
	return nil
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
