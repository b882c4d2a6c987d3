package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// place is where in a body a parameter is; places are combined with |.
type place uint8

const (
	inChat place = 1 << iota
	inCompletions
	inGenerate
	inSampling // sampling_params of /generate
	inStreamOptions

	inOpenAI = inChat | inCompletions
	inNative = inGenerate | inSampling
	inAll    = inOpenAI | inNative
)

// below are the places of the objects within a body, by the prefix of their parameters.
var below = map[string]place{"sampling_params.": inSampling, inOptions: inSampling, "stream_options.": inStreamOptions}

// inOptions is the prefix of Ollama's options. They have the parameters of sampling_params,
// which chat and completions have in the body itself.
const inOptions = "options."

// foreignField has parameters of other servers that have no effect here.
type foreignField struct {
	at    place
	names string // separated by spaces
	// neutral are the values that change nothing, as JSON without spaces, separated by
	// spaces. They are accepted, as null is; others are refused. advice: the parameters
	// only advise, so every value is accepted.
	neutral string
	remedy  string // what to do instead of sending another value; "": leave it out
}

// advice marks parameters that never change an answer.
const advice = "*"

const (
	noTools   = "use /v1/chat/completions"
	noMedia   = "leave it out; this server reads and writes text only"
	noPenalty = "leave it out; use temperature, top_p, top_k or min_p"
	noLogprob = "use return_logprob and top_logprobs_num, next to sampling_params"
)

// foreignFields is the table. Names with an effect are fields of the bodies.
var foreignFields = []foreignField{
	// Bookkeeping, billing and choice of hardware: the answer is the same without them.
	{inAll, "store metadata service_tier safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options verbosity prediction", advice, ""},
	{inAll, "keep_alive session_id id_slot slot_id cache_prompt n_keep num_keep n_discard n_cache_reuse timings_per_token return_progress", advice, ""},
	{inAll, "num_gpu main_gpu num_thread num_batch low_vram use_mmap use_mlock numa f16_kv vocab_only", advice, ""},
	{inAll, "request_id data_parallel_rank log_metrics custom_labels custom_logger stream_reasoning return_cached_tokens_details", advice, ""},
	{inAll, "provider route models usage", advice, ""},
	{inCompletions | inNative, "parallel_tool_calls include_reasoning separate_reasoning", advice, ""},

	// The form of the answer.
	{inAll, "guided_decoding_backend", advice, ""},
	{inAll, "guided_whitespace_pattern", `""`, "leave it out; white space between JSON tokens is a space, or a line break with spaces"},
	{inAll, "modalities", `["text"]`, `use ["text"]`},
	{inAll, "audio", "", noMedia},
	{inAll, "image_data audio_data video_data multimodal mm_processor_kwargs images", "[] {} false", noMedia},
	{inCompletions | inNative, "tools functions", "[]", noTools},
	{inCompletions | inNative, "tool_choice function_call", `"none" "auto"`, noTools},
	{inCompletions | inNative, "reasoning_format", `"auto" "none"`, "leave it out; thoughts are apart in /v1/chat/completions only"},
	{inAll, "web_search_options plugins moderation documents", "[] {} false", ""},
	{inAll, "suffix", `""`, "write the suffix into the prompt, in the model's fill-in-the-middle format"},
	{inChat, "system instructions", `"" []`, `put it into a system message: {"role": "system", "content": "…"}`},
	{inCompletions | inNative, "system instructions", `"" []`, "write it into the prompt, or use a system message in /v1/chat/completions"},
	{inChat | inNative, "echo", "false", "use /v1/completions"},
	{inChat, "continue_final_message", "false", "use /v1/completions with the text so far"},
	{inChat, "chat_template", `""`, "start the server with --chat-template FILE"},
	{inCompletions | inNative, "continue_final_message chat_template", advice, ""},
	{inChat, "add_special_tokens", "false", "use /v1/completions with token ids"},
	{inCompletions, "add_special_tokens", "true", "send token ids as the prompt"},
	{inNative, "add_special_tokens", "true", "send token ids as input_ids"},
	{inAll, "spaces_between_special_tokens", "true", "leave it out or send true"},
	{inOpenAI, "return_token_ids return_tokens return_tokens_as_token_ids return_meta_info return_prompt_token_ids", "false", "use /generate, whose answers have output_ids"},
	{inNative, "return_token_ids return_tokens return_meta_info", "true false", "leave it out; answers have output_ids and meta_info"},
	{inNative, "return_tokens_as_token_ids return_prompt_token_ids", "false", "leave it out; answers have output_ids"},
	{inOpenAI, "prompt_logprobs", "", "use /v1/completions with echo and logprobs"},
	{inOpenAI, "n_probs post_sampling_probs", "0 false", "use logprobs"},
	{inOpenAI, "return_logprob return_text_in_logprobs", "false", "use logprobs"},
	{inOpenAI, "top_logprobs_num", "0", "use logprobs"},
	{inOpenAI, "logprob_start_len", "-1", "use /v1/completions with echo and logprobs"},
	{inCompletions, "top_logprobs", "0", "use logprobs with a number"},
	{inNative, "logprobs post_sampling_probs", "false", noLogprob},
	{inNative, "top_logprobs n_probs", "0", noLogprob},
	{inNative, "prompt_logprobs", "", "use return_logprob and logprob_start_len, next to sampling_params"},
	{inAll, "return_hidden_states return_routed_experts token_ids_logprob logprob_token_ids response_fields", "false 0 [] {}", ""},
	{inStreamOptions, "continuous_usage_stats", "false", "leave it out or send false"},
	{inAll, "background", "false", ""},

	// What is computed.
	{inOpenAI, "max_output_tokens max_tokens_to_sample max_length", "", "use max_tokens"},
	{inNative, "max_output_tokens max_tokens_to_sample max_length", "", "use max_new_tokens in sampling_params"},
	{inAll, "best_of", "1", "ask for n choices instead"},
	{inAll, "use_beam_search early_stopping", "false", noPenalty},
	{inAll, "num_beams", "1", noPenalty},
	{inAll, "length_penalty", "0 0.0 1 1.0", noPenalty}, // without beams it has no effect
	{inAll, "typical_p typical tfs_z", "1 1.0", noPenalty},
	{inAll, "mirostat", "0", noPenalty},
	{inAll, "top_a eta_cutoff epsilon_cutoff", "0 0.0", noPenalty},
	{inAll, "mirostat_tau mirostat_eta dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers xtc_threshold dynatemp_exponent smoothing_curve", advice, ""},
	{inAll, "dry_multiplier xtc_probability dynatemp_range smoothing_factor penalty_alpha diversity_penalty", "0 0.0", noPenalty},
	{inAll, "top_n_sigma", "0 0.0 -1 -1.0", noPenalty},
	{inAll, "adaptive_target", "-1 -1.0", noPenalty},
	{inAll, "no_repeat_ngram_size", "0", "leave it out; use repetition_penalty or frequency_penalty"},
	{inAll, "guidance_scale cfg_scale", "1 1.0", "leave it out; guidance is not implemented"},
	{inAll, "negative_prompt", `""`, "write into the prompt what to avoid"},
	{inAll, "prompt_embeds", "[]", "send text or token ids"},
	{inAll, "min_keep", "0 1", ""},
	{inAll, "samplers sampler_seq", "", "leave it out; the order of sampling is fixed, see docs/api.md"},
	{inAll, "truncate_prompt_tokens truncate transforms", "false []", "shorten the prompt before sending it"},
	{inAll, "bad_words allowed_token_ids bad_words_ids force_words_ids", "[]", "use logit_bias"},
	{inAll, "logits_processors custom_logit_processor custom_params", "[] {} false", "use logit_bias"},
	{inAll, "stop_sequences stop_strings", "[]", "use stop"},
	{inAll, "stop_regex", "[]", "use stop"},
	{inAll, "t_max_predict_ms", "0 -1", "use max_tokens, or the setting request-timeout"},
	{inAll, "lora lora_path lora_id adapter_id lora_request", "[] {} false 0 -1", "leave it out; LoRA adapters are not implemented"},
	{inAll, "session_params kv_transfer_params bootstrap_host bootstrap_port bootstrap_room", "false 0 [] {}", ""},
	{inAll, "safe_prompt", "false", "put the instruction into a system message"},
	{inOpenAI, "extra_body", "{}", "move its fields to the top level of the body"},
	{inGenerate, "extra_body", "{}", "move its fields to sampling_params"},
	{inSampling, "options extra_body", "{}", "move its fields to sampling_params"},
}

// foreignTable are the parameters by place and name.
var foreignTable = sync.OnceValue(func() map[place]map[string]*foreignField {
	table := map[place]map[string]*foreignField{}
	for i := range foreignFields {
		for at := inChat; at <= inStreamOptions; at <<= 1 {
			if foreignFields[i].at&at == 0 {
				continue
			}
			if table[at] == nil {
				table[at] = map[string]*foreignField{}
			}
			for name := range strings.FieldsSeq(foreignFields[i].names) {
				table[at][name] = &foreignFields[i]
			}
		}
	}
	return table
})

// maxNeutral is the most bytes of a neutral value, also with white space.
const maxNeutral = 256

// accepts reports whether a value changes nothing.
func (f *foreignField) accepts(value []byte) bool {
	if isNull(value) || f.neutral == advice {
		return true
	}
	var compact bytes.Buffer
	if len(value) > maxNeutral || json.Compact(&compact, value) != nil {
		return false
	}
	return slices.Contains(strings.Fields(f.neutral), compact.String())
}

// instead is what to do about a value that is not accepted.
func (f *foreignField) instead() string { return cmp.Or(f.remedy, "leave it out") }
