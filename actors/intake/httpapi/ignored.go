package httpapi

import (
	"bytes"
	"encoding/json"
)

// accounting are parameters of the OpenAI API that say who asks or where the
// answer is filed. They have no effect on a generation and none is promised.
type accounting struct {
	User             *string         `json:"user"`
	SafetyIdentifier *string         `json:"safety_identifier"`
	PromptCacheKey   *string         `json:"prompt_cache_key"`
	Metadata         json.RawMessage `json:"metadata"`
}

// refusable are parameters that other servers give a meaning. They are taken
// in the values that mean "nothing special" and refused otherwise.
type refusable struct {
	Store               json.RawMessage `json:"store"`
	ServiceTier         json.RawMessage `json:"service_tier"`
	ResponseFormat      json.RawMessage `json:"response_format"`
	Modalities          json.RawMessage `json:"modalities"`
	Audio               json.RawMessage `json:"audio"`
	Tools               json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   json.RawMessage `json:"parallel_tool_calls"`
	Functions           json.RawMessage `json:"functions"`
	FunctionCall        json.RawMessage `json:"function_call"`
	Prediction          json.RawMessage `json:"prediction"`
	ReasoningEffort     json.RawMessage `json:"reasoning_effort"`
	Verbosity           json.RawMessage `json:"verbosity"`
	WebSearchOptions    json.RawMessage `json:"web_search_options"`
	PromptCacheRetent   json.RawMessage `json:"prompt_cache_retention"`
	PromptCacheOptions  json.RawMessage `json:"prompt_cache_options"`
	Moderation          json.RawMessage `json:"moderation"`
	BestOf              json.RawMessage `json:"best_of"`
	Suffix              json.RawMessage `json:"suffix"`
	GuidedJSON          json.RawMessage `json:"guided_json"`
	JSONSchema          json.RawMessage `json:"json_schema"`
	Regex               json.RawMessage `json:"regex"`
	EBNF                json.RawMessage `json:"ebnf"`
	LoraPath            json.RawMessage `json:"lora_path"`
	ContinueFinalMessag json.RawMessage `json:"continue_final_message"`
}

// longestNeutral is above the length of every neutral value below, in bytes and
// with white space.
const longestNeutral = 256

// check refuses what would have to have an effect.
func (f *refusable) check() *apiError {
	for _, p := range []struct {
		name    string
		value   json.RawMessage
		neutral []string
		remedy  string
	}{
		{"store", f.Store, []string{"false"}, "leave it out or send false"},
		{"service_tier", f.ServiceTier, []string{`"auto"`, `"default"`}, "leave it out"},
		{"response_format", f.ResponseFormat, []string{`{"type":"text"}`}, `only {"type": "text"} is`},
		{"modalities", f.Modalities, []string{`["text"]`}, `only ["text"] is`},
		{"audio", f.Audio, nil, "leave it out"},
		{"tools", f.Tools, []string{"[]"}, "leave it out; describe the tools in a message"},
		{"tool_choice", f.ToolChoice, []string{`"none"`, `"auto"`}, "leave it out"},
		{"parallel_tool_calls", f.ParallelToolCalls, []string{"true", "false"}, "leave it out"},
		{"functions", f.Functions, []string{"[]"}, "leave it out; describe the functions in a message"},
		{"function_call", f.FunctionCall, []string{`"none"`, `"auto"`}, "leave it out"},
		{"prediction", f.Prediction, nil, "leave it out"},
		{"reasoning_effort", f.ReasoningEffort, nil, "leave it out; a template's own switches go into chat_template_kwargs"},
		{"verbosity", f.Verbosity, nil, "leave it out"},
		{"web_search_options", f.WebSearchOptions, nil, "leave it out"},
		{"prompt_cache_retention", f.PromptCacheRetent, nil, "leave it out; prefixes are always cached"},
		{"prompt_cache_options", f.PromptCacheOptions, nil, "leave it out; prefixes are always cached"},
		{"moderation", f.Moderation, nil, "leave it out"},
		{"best_of", f.BestOf, []string{"1"}, "ask for n choices instead"},
		{"suffix", f.Suffix, []string{`""`}, "leave it out"},
		{"guided_json", f.GuidedJSON, nil, "leave it out"},
		{"json_schema", f.JSONSchema, nil, "leave it out"},
		{"regex", f.Regex, nil, "leave it out"},
		{"ebnf", f.EBNF, nil, "leave it out"},
		{"lora_path", f.LoraPath, nil, "leave it out"},
		{"continue_final_message", f.ContinueFinalMessag, []string{"false"}, "use /v1/completions with the text so far"},
	} {
		if len(p.value) == 0 || string(p.value) == "null" {
			continue
		}
		var compact bytes.Buffer
		if len(p.value) <= longestNeutral {
			_ = json.Compact(&compact, p.value) // it was checked, so it is JSON
		}
		neutral := false
		for _, n := range p.neutral {
			neutral = neutral || compact.String() == n
		}
		if !neutral {
			return unsupported(p.name, p.remedy)
		}
	}
	return nil
}
