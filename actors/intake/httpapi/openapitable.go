package httpapi

import "reflect"

// describedEndpoint is what /openapi.json says of an endpoint besides its method and access.
type describedEndpoint struct {
	group, summary string
	body           reflect.Type // nil: none
	required       []string     // fields of the body
	queries        []string     // query parameters
	perModel       bool         // gateways take ?model=
	kinds          []string     // content types of the answer
	answer         string
	example        string // of the body, JSON
}

const (
	asJSON   = "application/json"
	asEvents = "text/event-stream"
	asText   = "text/plain"
)

// The groups of endpoints.
const (
	groupGenerate = "Generate text"
	groupModels   = "Models and tokens"
	groupHealth   = "Health and metrics"
	groupAdmin    = "Administration"
	groupCluster  = "Cluster"
)

// describedEndpoints has every endpoint, by path.
var describedEndpoints = map[string]describedEndpoint{
	"/v1/chat/completions": {group: groupGenerate, summary: "Answer a conversation", body: reflect.TypeFor[chatRequest](), required: []string{"messages"},
		kinds: []string{asJSON, asEvents}, answer: "OpenAI's chat.completion, or with stream chat.completion.chunk events",
		example: `{"messages": [{"role": "user", "content": "Tell me a story about a cat"}], "max_tokens": 100, "stream": true}`},
	"/v1/completions": {group: groupGenerate, summary: "Continue a text or token ids", body: reflect.TypeFor[completionRequest](), required: []string{"prompt"},
		kinds: []string{asJSON, asEvents}, answer: "OpenAI's text_completion, with stream in events",
		example: `{"prompt": "Once upon a time", "max_tokens": 40, "temperature": 0}`},
	"/generate": {group: groupGenerate, summary: "Continue a text or token ids, SGLang's native endpoint", body: reflect.TypeFor[generateRequest](),
		kinds: []string{asJSON, asEvents}, answer: "text, output_ids and meta_info, with stream the answer so far in each event",
		example: `{"text": "Once upon a time", "sampling_params": {"max_new_tokens": 8, "temperature": 0}}`},
	"/abort_request": {group: groupGenerate, summary: "Abort the caller's call by its rid; with abort_all those of all clients (admin key)", body: reflect.TypeFor[abortBody](),
		kinds: []string{asJSON}, answer: "success", example: `{"rid": "my-id"}`},

	"/v1/models":         {group: groupModels, summary: "List the served models", kinds: []string{asJSON}, answer: "a list of models with their context length"},
	"/v1/models/{id...}": {group: groupModels, summary: "Show a served model", kinds: []string{asJSON}, answer: "the model with its context length"},
	"/tokenize":          tokenizeEndpoint,
	"/v1/tokenize":       tokenizeEndpoint,
	"/detokenize":        detokenizeEndpoint,
	"/v1/detokenize":     detokenizeEndpoint,

	"/livez":           {group: groupHealth, summary: "Check that the process is alive", kinds: []string{asJSON}, answer: "the status live"},
	"/readyz":          {group: groupHealth, summary: "Check that the engine accepts requests; while the server starts, the answer says what it is doing", kinds: []string{asJSON}, answer: "the status ready"},
	"/health":          {group: groupHealth, summary: "The same as /readyz, under SGLang's name", kinds: []string{asJSON}, answer: "the status ready"},
	"/health_generate": {group: groupHealth, summary: "Check that the engine computes tokens", kinds: []string{asJSON}, answer: "a token was computed"},
	"/server_info":     serverInfoEndpoint,
	"/get_server_info": serverInfoEndpoint,
	"/metrics":         {group: groupHealth, summary: "Metrics for Prometheus", kinds: []string{asText}, answer: "the exposition"},
	"/openapi.json":    {group: groupHealth, summary: "This description", kinds: []string{asJSON}, answer: "an OpenAPI description"},

	"/flush_cache": {group: groupAdmin, summary: "Empty the prefix cache, if no request runs", perModel: true, kinds: []string{asJSON}, answer: "success"},
	"/debug/audit": {group: groupAdmin, summary: "Count every page of the KV pool by owner", perModel: true, kinds: []string{asJSON}, answer: "the counts, in pages"},
	"/debug/cache": {group: groupAdmin, summary: "Show a part of the prefix cache as a tree", queries: []string{"depth", "nodes", "tokens", "format"}, perModel: true,
		kinds: []string{asJSON, asText}, answer: "the tree"},
	"/v1/kv_events": {group: groupAdmin, summary: "Stream what enters and leaves the prefix cache", queries: []string{"after"}, perModel: true, kinds: []string{asEvents}, answer: "events open, stored, removed, cleared and gap"},
	"/v1/board":     {group: groupAdmin, summary: "Stream what the board shows, several times a second", kinds: []string{asEvents}, answer: "frames: pages by owner, requests, steps, prefix tree, counters, actors, events"},

	"/v1/cluster":        {group: groupCluster, summary: "List the nodes", kinds: []string{asJSON}, answer: "the nodes"},
	"/v1/cluster/actors": {group: groupCluster, summary: "List the actors of all nodes, or of one", queries: []string{"node"}, kinds: []string{asJSON}, answer: "the actors"},
	"/v1/cluster/events": {group: groupCluster, summary: "Stream what happens to nodes and actors", queries: []string{"after"}, kinds: []string{asEvents}, answer: "events"},
	"/v1/cluster/actions": {group: groupCluster, summary: "Drain, stop, start or restart a node or an actor", body: reflect.TypeFor[actionBody](), required: []string{"action", "target"},
		kinds: []string{asJSON}, answer: "the result of the action", example: `{"action": "drain", "target": "engine-1", "reason": "new disk"}`},
}

var (
	tokenizeEndpoint = describedEndpoint{group: groupModels, summary: "Turn text into token ids", body: reflect.TypeFor[tokenizeRequest](),
		kinds: []string{asJSON}, answer: "tokens, count and max_model_len", example: `{"prompt": "Hello"}`}
	detokenizeEndpoint = describedEndpoint{group: groupModels, summary: "Turn token ids into text", body: reflect.TypeFor[detokenizeRequest](), required: []string{"tokens"},
		kinds: []string{asJSON}, answer: "the text", example: `{"tokens": [1, 2, 3]}`}
	serverInfoEndpoint = describedEndpoint{group: groupHealth, summary: "Show model, device, memory plan, settings and counters", kinds: []string{asJSON}, answer: "what the server is and does"}
)

// describedQueries has every query parameter.
var describedQueries = map[string]string{
	"depth": "levels below a root, 1 to 1000", "nodes": "nodes in total, 1 to 10000", "tokens": "tokens of each node, 1 to 256", "format": "json or text",
	"after": "number of the last known event: the stream begins after it; 0: with all events that are kept; absent: with new events only",
	"model": "name of a model, if a gateway serves several", "node": "the name of a node; absent: all",
}

// describedFields has every field of the bodies, by name.
var describedFields = map[string]string{
	"messages": "the conversation", "role": "system, developer, user, assistant, tool or function", "content": "the text", "type": "of a content part: text; of response_format: text, json_object, json_schema or structural_tag",
	"model": "the served name; empty or absent: the only one", "prompt": "a text, a list of texts, a list of token ids, or a list of such lists",
	"text": "a text or a list of texts", "input_ids": "a list of token ids, or a list of such lists", "tokens": "a list of token ids, or a list of such lists",
	"sampling_params": "the sampling parameters",
	"temperature":     "0 to 2: divides the logits; 0 chooses the likeliest token", "top_p": "0 to 1: keeps the smallest set of likeliest tokens whose probabilities add up to this",
	"top_k": "keeps the k likeliest tokens; 0 or -1: all", "min_p": "0 to 1: keeps tokens with at least this share of the likeliest token's probability",
	"frequency_penalty": "-2 to 2, for each occurrence in the output", "presence_penalty": "-2 to 2, once if the token is in the output",
	"repetition_penalty": "above 0, at most 2: divides positive and multiplies negative logits of tokens in prompt or output", "repeat_penalty": "the same as repetition_penalty",
	"response_format": "what the output must match: text, json_object, json_schema or structural_tag", "structured_outputs": "the same under vLLM's name: one of json, json_object, regex, choice, grammar, structural_tag",
	"guided_json": "a JSON schema that the output must match", "guided_regex": "a regular expression that the output must match", "guided_choice": "texts, one of which is the output",
	"guided_grammar": "EBNF or Lark that the output must match", "json_schema": "a JSON schema that the output must match; in response_format an object with it", "json": "a JSON schema that the output must match",
	"regex": "a regular expression that the output must match", "ebnf": "EBNF that the output must match", "grammar": "GBNF that the output must match; in structured_outputs EBNF or Lark",
	"structural_tag": "text with tags whose contents have a given form", "format": "json or a JSON schema that the output must match; in response_format the form of a structural tag", "choice": "texts, one of which is the output",
	"json_object": "the output is a JSON object", "schema": "a JSON schema", "name": "of the schema; no effect", "description": "of the schema; no effect", "strict": "no effect: a schema is always enforced as a whole",
	"disable_any_whitespace": "true: no white space between the tokens of JSON", "whitespace_pattern": "refused unless empty", "disable_additional_properties": "refused unless false",
	"structures": "tags of a structural tag in SGLang's older form", "triggers": "texts that begin the tags of structures",
	"logit_bias": "token id to -100 to 100", "stop": "texts that end the output", "stop_token_ids": "token ids that end the output", "ignore_eos": "the model's end tokens do not end the output",
	"n": "choices of each prompt, 1 to 128", "seed": "makes the output repeatable; -1: as if absent", "random_seed": "the same as seed", "sampling_seed": "the same as seed",
	"min_tokens": "minimum number of output tokens; until then end tokens and stop strings do not end the output", "min_new_tokens": "the same as min_tokens",
	"no_stop_trim": "shows the stop string that ended the output", "include_stop_str_in_output": "the same as no_stop_trim", "skip_special_tokens": "leaves special tokens out of the text; default true",
	"do_sample": "false chooses the likeliest token, as temperature 0 does", "repeat_last_n": "-1; another value only without a penalty", "penalize_nl": "true; false only without a penalty", "penalize_newline": "the same as penalize_nl",
	"options": "sampling parameters, as in Ollama; they may also be in the body itself",
	"num_ctx": "tokens of prompt and output together", "max_tokens": "maximum number of output tokens; absent: as many as fit into the context", "max_completion_tokens": "the same as max_tokens",
	"max_new_tokens": "the same as max_tokens", "num_predict": "the same as max_tokens; -1: no limit", "n_predict": "the same as max_tokens; -1: no limit",
	"stream": "answers with server-sent events", "stream_options": "options of a stream", "include_usage": "adds a last event with the usage", "include_obfuscation": "has no effect",
	"user": "the tenant for schedule-policy fair", "priority": "requests with a higher number are admitted first, with schedule-policy priority", "cache_salt": "requests share cached prefixes only if this value is the same", "extra_key": "requests share cached prefixes only if this value is the same",
	"rid": "id chosen by the client, with which it can abort the call", "abort_all": "aborts the calls of all clients",
	"logprobs": "log probabilities: in chat true or false, in completions how many alternatives", "top_logprobs": "alternatives for each token, 0 to 20, with logprobs",
	"echo": "returns the prompt before the output", "chat_template_kwargs": "variables for the chat template", "add_generation_prompt": "lets the template add the start of the answer; default true",
	"reasoning_effort": "for templates that know it; none switches thinking off", "enable_thinking": "for templates that know it", "think": "the same as enable_thinking, or a level as in reasoning_effort", "thinking": "the same as enable_thinking, also as an object",
	"tools": "the tools that the model may call", "tool_choice": "auto, none, required, the tool to call, or allowed_tools", "parallel_tool_calls": "false: at most one call in an answer",
	"functions": "tools under their older name", "function_call": "tool_choice under its older name",
	"thinking_budget": "tokens that thoughts may have; -1: as many as come", "thinking_token_budget": "the same as thinking_budget", "reasoning_budget": "the same as thinking_budget",
	"separate_reasoning": "false leaves thoughts in the content", "reasoning_format": "none leaves thoughts in the content; auto and deepseek do not", "include_reasoning": "false leaves thoughts out of the answer",
	"return_logprob": "log probabilities of the output", "logprob_start_len": "position of the prompt from which log probabilities are returned; -1: none", "top_logprobs_num": "alternatives for each position, 0 to 20",
	"return_text_in_logprobs": "adds the texts of tokens to log probabilities", "add_special_tokens": "adds the tokenizer's own special tokens; default true",
	"action": "drain, undrain, stop, start or restart", "target": "NODE or NODE/PATH of an actor", "reason": "text for the event log", "force": "do it even if the model has no other engine left",
}
