package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// accounting are OpenAI's parameters for bookkeeping. They do not affect a generation.
type accounting struct {
	User             *string         `json:"user"`
	SafetyIdentifier *string         `json:"safety_identifier"`
	PromptCacheKey   *string         `json:"prompt_cache_key"`
	Metadata         json.RawMessage `json:"metadata"`
}

// unsupportedJSON is a parameter that other servers support and this one does not. null
// and the values in the tag neutral, which change nothing, are accepted. Others are
// refused with the remedy of that tag, or the advice to leave the parameter out.
type unsupportedJSON json.RawMessage

type (
	refusable struct {
		Store                unsupportedJSON `json:"store" neutral:"false" remedy:"leave it out or send false"`
		ServiceTier          unsupportedJSON `json:"service_tier" neutral:"\"auto\" \"default\""`
		ResponseFormat       unsupportedJSON `json:"response_format" neutral:"{\"type\":\"text\"}" remedy:"only {\"type\": \"text\"} is"`
		Modalities           unsupportedJSON `json:"modalities" neutral:"[\"text\"]" remedy:"only [\"text\"] is"`
		Audio                unsupportedJSON `json:"audio"`
		Tools                unsupportedJSON `json:"tools" neutral:"[]" remedy:"leave it out; describe the tools in a message"`
		ToolChoice           unsupportedJSON `json:"tool_choice" neutral:"\"none\" \"auto\""`
		ParallelToolCalls    unsupportedJSON `json:"parallel_tool_calls" neutral:"true false"`
		Functions            unsupportedJSON `json:"functions" neutral:"[]" remedy:"leave it out; describe the functions in a message"`
		FunctionCall         unsupportedJSON `json:"function_call" neutral:"\"none\" \"auto\""`
		Prediction           unsupportedJSON `json:"prediction"`
		ReasoningEffort      unsupportedJSON `json:"reasoning_effort" remedy:"leave it out; a template's own switches go into chat_template_kwargs"`
		Verbosity            unsupportedJSON `json:"verbosity"`
		WebSearchOptions     unsupportedJSON `json:"web_search_options"`
		PromptCacheRetention unsupportedJSON `json:"prompt_cache_retention" remedy:"leave it out; prefixes are always cached"`
		PromptCacheOptions   unsupportedJSON `json:"prompt_cache_options" remedy:"leave it out; prefixes are always cached"`
		Moderation           unsupportedJSON `json:"moderation"`
		BestOf               unsupportedJSON `json:"best_of" neutral:"1" remedy:"ask for n choices instead"`
		Suffix               unsupportedJSON `json:"suffix" neutral:"\"\""`
		GuidedJSON           unsupportedJSON `json:"guided_json"`
		JSONSchema           unsupportedJSON `json:"json_schema"`
		Regex                unsupportedJSON `json:"regex"`
		EBNF                 unsupportedJSON `json:"ebnf"`
		LoraPath             unsupportedJSON `json:"lora_path"`
		ContinueFinalMessage unsupportedJSON `json:"continue_final_message" neutral:"false" remedy:"use /v1/completions with the text so far"`
	}
	// refusableNative are those of /generate.
	refusableNative struct {
		LoraPath             unsupportedJSON `json:"lora_path" neutral:"false 0 [] {}"`
		ReturnHiddenStates   unsupportedJSON `json:"return_hidden_states" neutral:"false 0 [] {}"`
		SessionParams        unsupportedJSON `json:"session_params" neutral:"false 0 [] {}"`
		ImageData            unsupportedJSON `json:"image_data" neutral:"false 0 [] {}"`
		CustomLogitProcessor unsupportedJSON `json:"custom_logit_processor" neutral:"false 0 [] {}"`
		TokenIDsLogprob      unsupportedJSON `json:"token_ids_logprob" neutral:"false 0 [] {}"`
		Background           unsupportedJSON `json:"background" neutral:"false 0 [] {}"`
	}
	// refusableSampling are those of /generate's sampling_params.
	refusableSampling struct {
		JSONSchema   unsupportedJSON `json:"json_schema" neutral:"false 0 [] {}"`
		Regex        unsupportedJSON `json:"regex" neutral:"false 0 [] {}"`
		EBNF         unsupportedJSON `json:"ebnf" neutral:"false 0 [] {}"`
		StopRegex    unsupportedJSON `json:"stop_regex" neutral:"false 0 [] {}"`
		CustomParams unsupportedJSON `json:"custom_params" neutral:"false 0 [] {}"`
	}
)

// refuseSet refuses the first field of a struct of unsupported parameters that is set
// and not neutral; prefix is where they are.
func refuseSet(prefix string, params any) *apiError {
	fields := reflect.ValueOf(params)
	for i := range fields.NumField() {
		f, value := fields.Type().Field(i), fields.Field(i).Bytes()
		if isNull(value) {
			continue
		}
		var compact bytes.Buffer
		if len(value) <= 256 { // neutral values are shorter, also with white space
			_ = json.Compact(&compact, value) // it was checked, so it is JSON
		}
		if !slices.Contains(strings.Fields(f.Tag.Get("neutral")), compact.String()) {
			return unsupported(prefix+jsonName(f), cmp.Or(f.Tag.Get("remedy"), "leave it out"))
		}
	}
	return nil
}
