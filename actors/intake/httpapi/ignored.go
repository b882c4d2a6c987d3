package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// accounting are parameters of the OpenAI API that say who asks or where the
// answer is filed. They have no effect on a generation and none is promised.
type accounting struct {
	User             *string         `json:"user"`
	SafetyIdentifier *string         `json:"safety_identifier"`
	PromptCacheKey   *string         `json:"prompt_cache_key"`
	Metadata         json.RawMessage `json:"metadata"`
}

// The structs below are parameters that other servers give a meaning and this
// one does not. null and the values in the tag neutral, which ask for nothing,
// are accepted; others are refused. The tag remedy says what to do instead of
// leaving the parameter out.
type (
	refusable struct {
		Store                json.RawMessage `json:"store" neutral:"false" remedy:"leave it out or send false"`
		ServiceTier          json.RawMessage `json:"service_tier" neutral:"\"auto\" \"default\""`
		ResponseFormat       json.RawMessage `json:"response_format" neutral:"{\"type\":\"text\"}" remedy:"only {\"type\": \"text\"} is"`
		Modalities           json.RawMessage `json:"modalities" neutral:"[\"text\"]" remedy:"only [\"text\"] is"`
		Audio                json.RawMessage `json:"audio"`
		Tools                json.RawMessage `json:"tools" neutral:"[]" remedy:"leave it out; describe the tools in a message"`
		ToolChoice           json.RawMessage `json:"tool_choice" neutral:"\"none\" \"auto\""`
		ParallelToolCalls    json.RawMessage `json:"parallel_tool_calls" neutral:"true false"`
		Functions            json.RawMessage `json:"functions" neutral:"[]" remedy:"leave it out; describe the functions in a message"`
		FunctionCall         json.RawMessage `json:"function_call" neutral:"\"none\" \"auto\""`
		Prediction           json.RawMessage `json:"prediction"`
		ReasoningEffort      json.RawMessage `json:"reasoning_effort" remedy:"leave it out; a template's own switches go into chat_template_kwargs"`
		Verbosity            json.RawMessage `json:"verbosity"`
		WebSearchOptions     json.RawMessage `json:"web_search_options"`
		PromptCacheRetention json.RawMessage `json:"prompt_cache_retention" remedy:"leave it out; prefixes are always cached"`
		PromptCacheOptions   json.RawMessage `json:"prompt_cache_options" remedy:"leave it out; prefixes are always cached"`
		Moderation           json.RawMessage `json:"moderation"`
		BestOf               json.RawMessage `json:"best_of" neutral:"1" remedy:"ask for n choices instead"`
		Suffix               json.RawMessage `json:"suffix" neutral:"\"\""`
		GuidedJSON           json.RawMessage `json:"guided_json"`
		JSONSchema           json.RawMessage `json:"json_schema"`
		Regex                json.RawMessage `json:"regex"`
		EBNF                 json.RawMessage `json:"ebnf"`
		LoraPath             json.RawMessage `json:"lora_path"`
		ContinueFinalMessage json.RawMessage `json:"continue_final_message" neutral:"false" remedy:"use /v1/completions with the text so far"`
	}
	// refusableNative are those of /generate.
	refusableNative struct {
		LoraPath             json.RawMessage `json:"lora_path" neutral:"false 0 [] {}"`
		ReturnHiddenStates   json.RawMessage `json:"return_hidden_states" neutral:"false 0 [] {}"`
		SessionParams        json.RawMessage `json:"session_params" neutral:"false 0 [] {}"`
		ImageData            json.RawMessage `json:"image_data" neutral:"false 0 [] {}"`
		CustomLogitProcessor json.RawMessage `json:"custom_logit_processor" neutral:"false 0 [] {}"`
		TokenIDsLogprob      json.RawMessage `json:"token_ids_logprob" neutral:"false 0 [] {}"`
		Background           json.RawMessage `json:"background" neutral:"false 0 [] {}"`
	}
	// refusableSampling are those of /generate's sampling_params.
	refusableSampling struct {
		JSONSchema   json.RawMessage `json:"json_schema" neutral:"false 0 [] {}"`
		Regex        json.RawMessage `json:"regex" neutral:"false 0 [] {}"`
		EBNF         json.RawMessage `json:"ebnf" neutral:"false 0 [] {}"`
		StopRegex    json.RawMessage `json:"stop_regex" neutral:"false 0 [] {}"`
		CustomParams json.RawMessage `json:"custom_params" neutral:"false 0 [] {}"`
	}
)

// longestNeutral is above the length of every neutral value, in bytes and with
// white space.
const longestNeutral = 256

// refuseSet refuses the first field of a struct of refusable parameters that is
// set and not neutral; prefix is where they are.
func refuseSet(prefix string, params any) *apiError {
	fields := reflect.ValueOf(params)
	for i := range fields.NumField() {
		f, value := fields.Type().Field(i), fields.Field(i).Bytes()
		if isNull(value) {
			continue
		}
		var compact bytes.Buffer
		if len(value) <= longestNeutral {
			_ = json.Compact(&compact, value) // it was checked, so it is JSON
		}
		if !slices.Contains(strings.Fields(f.Tag.Get("neutral")), compact.String()) {
			return unsupported(prefix+jsonName(f), cmp.Or(f.Tag.Get("remedy"), "leave it out"))
		}
	}
	return nil
}
