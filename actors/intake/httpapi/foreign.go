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
	inAll    = inOpenAI | inGenerate | inSampling
)

// below are the places of the objects within a body, by the prefix of their parameters.
var below = map[string]place{"sampling_params.": inSampling, "stream_options.": inStreamOptions}

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
	noGrammar = "leave it out and describe the format in a message; grammars and JSON schemas are not implemented yet"
	noTools   = "leave it out; describe the tools in a message"
	noMedia   = "leave it out; this server reads and writes text only"
	noPenalty = "leave it out; use temperature, top_p, top_k or min_p"
)

// foreignFields is the table. Names with an effect are fields of the bodies.
var foreignFields = []foreignField{
	// Bookkeeping, billing and choice of hardware: the answer is the same without them.
	{inAll, "store metadata service_tier safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options verbosity prediction", advice, ""},
	{inAll, "keep_alive session_id id_slot slot_id cache_prompt n_keep num_keep n_discard n_cache_reuse timings_per_token return_progress", advice, ""},
	{inAll, "num_gpu main_gpu num_thread num_batch low_vram use_mmap use_mlock numa f16_kv vocab_only", advice, ""},
	{inAll, "request_id data_parallel_rank log_metrics custom_labels custom_logger include_reasoning separate_reasoning stream_reasoning return_cached_tokens_details", advice, ""},
	{inAll, "provider route models usage", advice, ""},
	{inAll, "parallel_tool_calls", advice, ""},

	// The form of the answer.
	{inOpenAI, "response_format", `{"type":"text"}`, `use {"type": "text"} and describe the format in a message`},
	{inAll, "grammar json_schema regex ebnf structural_tag structured_outputs guided_json guided_regex guided_choice guided_grammar guided_decoding_backend guided_whitespace_pattern", `"" {}`, noGrammar},
	{inAll, "format", `""`, noGrammar},
	{inOpenAI, "modalities", `["text"]`, `use ["text"]`},
	{inOpenAI, "audio", "", noMedia},
	{inAll, "image_data audio_data video_data multimodal mm_processor_kwargs images", "[] {} false", noMedia},
	{inOpenAI, "tools functions", "[]", noTools},
	{inOpenAI, "tool_choice function_call", `"none" "auto"`, noTools},
	{inOpenAI, "web_search_options plugins moderation documents", "[] {} false", ""},
	{inOpenAI, "suffix", `""`, "write the suffix into the prompt, in the model's fill-in-the-middle format"},
	{inChat, "echo", "false", "use /v1/completions"},
	{inChat, "continue_final_message", "false", "use /v1/completions with the text so far"},
	{inChat, "chat_template", `""`, "start the server with --chat-template FILE"},
	{inChat, "add_special_tokens", "false", "use /v1/completions with token ids"},
	{inCompletions, "add_special_tokens", "true", "send token ids as the prompt"},
	{inAll, "spaces_between_special_tokens", "true", "leave it out or send true"},
	{inOpenAI, "return_token_ids return_tokens return_tokens_as_token_ids return_meta_info return_prompt_token_ids", "false", "use /generate, whose answers have output_ids"},
	{inOpenAI, "prompt_logprobs", "0", "use /v1/completions with echo and logprobs"},
	{inOpenAI, "n_probs post_sampling_probs", "0 false", "use logprobs"},
	{inAll, "return_hidden_states return_routed_experts token_ids_logprob logprob_token_ids response_fields", "false 0 [] {}", ""},
	{inStreamOptions, "include_obfuscation continuous_usage_stats", "false", "leave it out or send false"},
	{inGenerate, "background", "false", ""},

	// What is computed.
	{inOpenAI, "best_of", "1", "ask for n choices instead"},
	{inAll, "use_beam_search early_stopping length_penalty diversity_penalty num_beams", "false 0 1 1.0 0.0", noPenalty},
	{inAll, "typical_p typical tfs_z top_a mirostat eta_cutoff epsilon_cutoff", "1 1.0 0 0.0", noPenalty},
	{inAll, "mirostat_tau mirostat_eta dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers xtc_threshold dynatemp_exponent smoothing_curve", advice, ""},
	{inAll, "dry_multiplier xtc_probability dynatemp_range smoothing_factor penalty_alpha adaptive_target top_n_sigma", "0 0.0 -1 -1.0", noPenalty},
	{inAll, "repeat_last_n", "-1", "leave it out; repeat_penalty counts the prompt and the whole output"},
	{inAll, "penalize_newline penalize_nl", "true", "use logit_bias for the newline token"},
	{inAll, "min_keep", "0 1", ""},
	{inAll, "samplers sampler_seq", "", "leave it out; the order of sampling is fixed, see docs/api.md"},
	{inAll, "truncate_prompt_tokens truncate transforms", "false []", "shorten the prompt before sending it"},
	{inAll, "bad_words allowed_token_ids bad_words_ids force_words_ids", "[]", "use logit_bias"},
	{inAll, "logits_processors custom_logit_processor custom_params", "[] {} false", "use logit_bias"},
	{inAll, "stop_sequences stop_strings", "[]", "use stop"},
	{inAll, "stop_regex", "[]", "use stop"},
	{inAll, "t_max_predict_ms", "0", "use max_tokens, or the setting request-timeout"},
	{inAll, "lora lora_path lora_id adapter_id lora_request", "[] {} false 0 -1", "leave it out; LoRA adapters are not implemented"},
	{inAll, "session_params kv_transfer_params bootstrap_host bootstrap_port bootstrap_room", "false 0 [] {}", ""},
	{inAll, "safe_prompt", "false", "put the instruction into a system message"},
	{inChat, "options", "{}", "move its fields to the top level of the body, next to messages"},
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

// refusal is the error for a value that is not accepted.
func (f *foreignField) refusal(path string) *apiError {
	return unsupported(path, cmp.Or(f.remedy, "leave it out"))
}
