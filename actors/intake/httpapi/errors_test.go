package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// badBody is a body that must be refused: with a status, param, code, and words
// that the message must have.
type badBody struct {
	body   any
	status int
	param  any
	code   any
	words  string
}

func refuse(t *testing.T, s *testserver.Server, path string, cases map[string]badBody) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := send(t, s, "POST", path, c.body)
			e := errorOf(t, a)
			if a.status != c.status || e["param"] != c.param || e["code"] != c.code || e["type"] != "invalid_request_error" {
				t.Errorf("got %d %v, want status %d, param %v, code %v", a.status, e, c.status, c.param, c.code)
			}
			if !strings.Contains(e["message"].(string), c.words) {
				t.Errorf("the message %q lacks %q", e["message"], c.words)
			}
			if a.header.Get("X-Request-ID") == "" {
				t.Error("no X-Request-ID")
			}
		})
	}
}

// Both OpenAI endpoints refuse the same sampling parameters.
func TestBadSamplingParameters(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	tooManyStops := make(list, 65)
	for i := range tooManyStops {
		tooManyStops[i] = "x"
	}
	for path, base := range map[string]object{
		"/v1/completions":      {"prompt": onceUpon, "max_tokens": 2},
		"/v1/chat/completions": {"messages": hello, "max_tokens": 2},
	} {
		cases := map[string]badBody{}
		add := func(name string, changes object, param string, words string) {
			cases[name] = badBody{merge(base, changes), 400, param, nil, words}
		}
		add("temperature high", object{"temperature": 2.5}, "temperature", "between 0 and 2")
		add("temperature negative", object{"temperature": -0.1}, "temperature", "between 0 and 2")
		add("temperature text", object{"temperature": "hot"}, "temperature", "must be a number, not a string")
		add("top_p high", object{"top_p": 1.1}, "top_p", "between 0 and 1")
		add("top_k", object{"top_k": -2}, "top_k", "at least 1")
		add("top_k fraction", object{"top_k": 1.5}, "top_k", "a 64-bit integer without a decimal point or exponent, not 1.5")
		add("min_p", object{"min_p": 2}, "min_p", "between 0 and 1")
		add("frequency_penalty", object{"frequency_penalty": -3}, "frequency_penalty", "between -2 and 2")
		add("presence_penalty", object{"presence_penalty": 2.01}, "presence_penalty", "between -2 and 2")
		add("repetition_penalty", object{"repetition_penalty": 0}, "repetition_penalty", "above 0")
		add("logit_bias key", object{"logit_bias": object{"cat": 1}}, "logit_bias", `"cat"`)
		add("logit_bias out of vocabulary", object{"logit_bias": object{"999999": 1}}, "logit_bias", "token ids between 0 and")
		add("logit_bias value", object{"logit_bias": object{"1": 101}}, "logit_bias", "between -100 and 100")
		add("logit_bias null", object{"logit_bias": object{"1": nil}}, "logit_bias", "null")
		add("logit_bias twice", object{"logit_bias": object{"1": 1, "01": 2}}, "logit_bias", "twice")
		add("logit_bias list", object{"logit_bias": list{}}, "logit_bias", "must be an object, not an array")
		add("seed", object{"seed": 1.5}, "seed", "a 64-bit integer")
		add("n zero", object{"n": 0}, "n", "between 1 and 128")
		add("n high", object{"n": 129}, "n", "between 1 and 128")
		add("min_tokens", object{"min_tokens": 3}, "min_tokens", "between 0 and 2")
		add("min_tokens negative", object{"min_tokens": -1}, "min_tokens", "between 0 and 2")
		add("stop empty", object{"stop": ""}, "stop", "0 bytes")
		add("stop number", object{"stop": 3}, "stop", "string or an array of strings")
		add("stop many", object{"stop": tooManyStops}, "stop", "at most 64")
		add("stop long", object{"stop": strings.Repeat("x", 5000)}, "stop", "between 1 and 4096")
		cases["stop_token_ids"] = badBody{merge(base, object{"stop_token_ids": list{-1}}), 400, "stop_token_ids", "token_out_of_vocabulary", "index 0"}
		add("stop_token_ids null", object{"stop_token_ids": list{1, nil}}, "stop_token_ids", "stop_token_ids[1] is null")
		add("stop_token_ids text", object{"stop_token_ids": "1"}, "stop_token_ids", "array of token ids")
		add("ignore_eos", object{"ignore_eos": 1}, "ignore_eos", "must be a boolean, not a number")
		add("max_tokens negative", object{"max_tokens": -3}, "max_tokens", "at least")
		add("num_predict", object{"max_tokens": nil, "num_predict": -3}, "num_predict", "at least")
		add("two limits", object{"num_predict": 9}, "num_predict", "both given and differ")
		add("two penalties", object{"repetition_penalty": 1.5, "repeat_penalty": 1.25}, "repeat_penalty", "both given and differ")
		add("two seeds", object{"seed": 1, "random_seed": 2}, "random_seed", "both given and differ")
		add("num_ctx", object{"num_ctx": 0}, "num_ctx", "at least 1")
		add("stream_options", object{"stream_options": object{"include_usage": true}}, "stream_options", "stream: true")
		add("stream_options type", object{"stream": true, "stream_options": object{"include_usage": 1}}, "stream_options.include_usage", "a boolean")
		add("stream", object{"stream": "yes"}, "stream", "a boolean")
		add("rid", object{"rid": strings.Repeat("r", 300)}, "rid", "at most 256")
		cases["temperature huge"] = badBody{`{"temperature": 1e999}`, 400, "temperature", nil, "must be a number, not 1e999"}
		cases["model"] = badBody{merge(base, object{"model": "gpt-9"}), 404, "model", "model_not_found", `this server has "fake/model"`}
		for param, value := range map[string]any{"best_of": 3, "suffix": "end", "moderation": object{"model": "m"},
			"documents": list{"a"}, "lora_path": "x", "mirostat": 2, "stop_sequences": list{"a"}} {
			cases["unsupported "+param] = badBody{merge(base, object{param: value}), 400, param, "unsupported_parameter", "not supported"}
		}
		cases["priority without effect"] = badBody{merge(base, object{"priority": 3}), 400, "priority", "unsupported_parameter", "schedule-policy priority"}
		cases["priority no number"] = badBody{merge(base, object{"priority": "high"}), 400, "priority", nil, "priority"}
		t.Run(path, func(t *testing.T) { refuse(t, s, path, cases) })
	}
}

func TestBadCompletions(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 64})
	refuse(t, s, "/v1/completions", map[string]badBody{
		"no prompt":        {object{"max_tokens": 2}, 400, "prompt", nil, "missing"},
		"null prompt":      {object{"prompt": nil}, 400, "prompt", nil, "missing"},
		"empty text":       {object{"prompt": ""}, 400, "prompt", nil, "empty"},
		"empty list":       {object{"prompt": list{}}, 400, "prompt", nil, "empty"},
		"empty ids":        {object{"prompt": list{list{}}}, 400, "prompt", nil, "prompt[0] is empty"},
		"one empty":        {object{"prompt": list{"a", ""}}, 400, "prompt", nil, "prompt[1] is empty"},
		"number":           {object{"prompt": 3}, 400, "prompt", nil, "must be a string"},
		"object":           {object{"prompt": object{}}, 400, "prompt", nil, "must be a string"},
		"mixed":            {object{"prompt": list{"a", 3}}, 400, "prompt", nil, "prompt[1]"},
		"ids and null":     {object{"prompt": list{3, nil}}, 400, "prompt", nil, "prompt[1] is null"},
		"ids and text":     {object{"prompt": list{3, "a"}}, 400, "prompt", nil, `prompt[1] is "a"`},
		"null entry":       {object{"prompt": list{"a", nil}}, 400, "prompt", nil, "prompt[1]"},
		"negative id":      {object{"prompt": list{3, -1}}, 400, "prompt", "token_out_of_vocabulary", "index 1"},
		"id too large":     {object{"prompt": list{1 << 20}}, 400, "prompt", "token_out_of_vocabulary", "index 0"},
		"id beyond 32 bit": {object{"prompt": list{1 << 40}}, 400, "prompt", nil, "it must be a token id"},
		"too long":         {object{"prompt": strings.Repeat("word ", 100)}, 400, "prompt", "context_length_exceeded", "context is 64"},
		"far too long":     {object{"prompt": strings.Repeat("word ", 2000)}, 400, "prompt", "context_length_exceeded", "at most 63"},
		"far too many ids": {object{"prompt": make([]int, 300)}, 400, "prompt", "context_length_exceeded", "more than 256 tokens"},
		"one too long":     {object{"prompt": list{"a", strings.Repeat("word ", 100)}}, 400, "prompt", "context_length_exceeded", "request 2 of 2"},
		"logprobs":         {object{"prompt": "a", "logprobs": 6}, 400, "logprobs", nil, "between 0 and 5"},
		"logprobs bool":    {object{"prompt": "a", "logprobs": true}, 400, "logprobs", nil, "not a boolean"},
		"choices":          {object{"prompt": strings.Split(strings.Repeat("a ", 200), " ")[:200], "n": 100}, 400, "n", nil, "at most 1024"},
		"prompts":          {object{"prompt": strings.Split(strings.Repeat("a ", 2000), " ")[:2000]}, 400, "prompt", nil, "more than 1024"},
		"echo":             {object{"prompt": "a", "echo": "yes"}, 400, "echo", nil, "a boolean"},
		"chat parameter":   {object{"prompt": "a", "messages": hello}, 400, "messages", "unknown_parameter", "not a parameter of this endpoint; send a prompt, or use /v1/chat/completions"},
	})
	if s.WaitIdle(t); s.Steps() != 0 {
		t.Errorf("refused requests took %d steps", s.Steps())
	}
}

func TestPromptBeyondThePool(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 1000, Pages: 8, PageSize: 4})
	refuse(t, s, "/v1/completions", map[string]badBody{
		"pool": {object{"prompt": strings.Repeat("word ", 60)}, 400, "prompt", "context_length_exceeded", "max-total-tokens"},
	})
}

func TestBadChats(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 64})
	message := func(m any) object { return object{"messages": list{m}} }
	refuse(t, s, "/v1/chat/completions", map[string]badBody{
		"none":             {object{}, 400, "messages", nil, "missing"},
		"empty":            {object{"messages": list{}}, 400, "messages", nil, "empty"},
		"text":             {object{"messages": "hi"}, 400, "messages", nil, "array of objects"},
		"no object":        {message("hi"), 400, "messages[0]", nil, "role"},
		"no role":          {message(object{"content": "hi"}), 400, "messages[0]", nil, "role"},
		"bad role":         {message(object{"role": "king", "content": "hi"}), 400, "messages[0].role", nil, `"king"`},
		"no content":       {message(object{"role": "user"}), 400, "messages[0].content", nil, "missing"},
		"null":             {message(object{"role": "assistant", "content": nil}), 400, "messages[0].content", nil, "null or missing; send text, or an empty string"},
		"null with calls":  {message(object{"role": "assistant", "content": nil, "tool_calls": list{object{"id": "a"}}}), 400, "messages[0].tool_calls[0]", nil, "must be an object such as"},
		"number":           {message(object{"role": "user", "content": 4}), 400, "messages[0].content", nil, "string or an array"},
		"picture":          {message(object{"role": "user", "content": list{object{"type": "image_url", "image_url": object{"url": "x"}}}}), 400, "messages[0].content", nil, `"image_url"`},
		"no text":          {message(object{"role": "user", "content": list{object{"type": "text", "text": "a"}, object{"type": "text"}}}), 400, "messages[0].content[1].text", nil, `messages[0].content[1] has no text`},
		"parts":            {message(object{"role": "user", "content": list{"a"}}), 400, "messages[0].content", nil, "text parts"},
		"template says no": {message(object{"role": "tool", "content": "4"}), 400, "messages", nil, "system, user and assistant only"},
		"too long":         {message(object{"role": "user", "content": strings.Repeat("word ", 100)}), 400, "messages", "context_length_exceeded", "context is 64"},
		"two limits":       {object{"messages": hello, "max_tokens": 1, "max_completion_tokens": 2}, 400, "max_completion_tokens", nil, "differ"},
		"limit":            {object{"messages": hello, "max_completion_tokens": 0}, 400, "max_completion_tokens", nil, "at least 1"},
		"top_logprobs":     {object{"messages": hello, "top_logprobs": 2}, 400, "top_logprobs", nil, "requires logprobs"},
		"many":             {object{"messages": hello, "logprobs": true, "top_logprobs": 21}, 400, "top_logprobs", nil, "between 0 and 20"},
		"template args":    {object{"messages": hello, "chat_template_kwargs": 3}, 400, "chat_template_kwargs", nil, "an object"},
		"audio":            {object{"messages": hello, "modalities": list{"audio"}}, 400, "modalities", "unsupported_parameter", "text"},
	})
	if logs := s.Logs(); strings.Contains(logs, "Tell me") || strings.Contains(logs, "word word") {
		t.Error("a prompt is in the log")
	}
}

func TestBadGenerates(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 64})
	sampling := func(o object) object { return object{"text": "a", "sampling_params": o} }
	refuse(t, s, "/generate", map[string]badBody{
		"nothing":      {object{}, 400, "text", nil, "missing"},
		"both":         {object{"text": "a", "input_ids": list{1}}, 400, "input_ids", nil, "both"},
		"ids as text":  {object{"text": list{1, 2}}, 400, "text", nil, "input_ids"},
		"text as ids":  {object{"input_ids": "a"}, 400, "input_ids", nil, "array of token ids"},
		"empty ids":    {object{"input_ids": list{}}, 400, "input_ids", nil, "empty"},
		"bad id":       {object{"input_ids": list{-4}}, 400, "input_ids", "token_out_of_vocabulary", "index 0"},
		"too long":     {object{"text": strings.Repeat("word ", 100)}, 400, "text", "context_length_exceeded", "context is 64"},
		"far too long": {object{"text": strings.Repeat("w", 1<<20)}, 400, "text", "context_length_exceeded", "at least 1048576 bytes"},
		"escapes":      {object{"text": strings.Repeat("\n", 1<<20)}, 400, "text", "context_length_exceeded", "at least 349525 bytes"},
		"nested":       {`{"text": ` + strings.Repeat("[", 100_000), 400, "text", nil, "text is nested more than 500 levels deep; flatten it"},
		"user":         {object{"text": "a", "user": strings.Repeat("u", 1<<20)}, 400, "user", nil, "user has 1048578 bytes of JSON; at most 1048576"},
		"ids too long": {object{"input_ids": make([]int, 100)}, 400, "input_ids", "context_length_exceeded", "context is 64"},
		"params":       {object{"text": "a", "sampling_params": list{}}, 400, "sampling_params", nil, "an object"},
		"range":        {sampling(object{"temperature": 9}), 400, "sampling_params.temperature", nil, "between 0 and 2"},
		"two seeds":    {sampling(object{"seed": 1, "sampling_seed": 2}), 400, "sampling_params.sampling_seed", nil, "both given and differ"},
		"two minimums": {sampling(object{"min_tokens": 1, "min_new_tokens": 2}), 400, "sampling_params.min_new_tokens", nil, "both given and differ"},
		"type":         {sampling(object{"top_k": "x"}), 400, "sampling_params.top_k", nil, "a 64-bit integer"},
		"two limits":   {sampling(object{"max_tokens": 3, "max_new_tokens": 4}), 400, "sampling_params.max_new_tokens", nil, "both given and differ"},
		"limits twice": {object{"text": "a", "sampling_params": object{"max_new_tokens": 3}, "options": object{"num_predict": 4}}, 400, "sampling_params.num_predict", nil, "both given and differ"},
		"limit":        {sampling(object{"max_new_tokens": -2}), 400, "sampling_params.max_new_tokens", nil, "at least 0"},
		"lora_path":    {sampling(object{"lora_path": "x"}), 400, "sampling_params.lora_path", "unsupported_parameter", "not supported"},
		"regex":        {sampling(object{"regex": "a["}), 400, "sampling_params.regex", "invalid_grammar", "cannot be used"},
		"spaces":       {sampling(object{"spaces_between_special_tokens": false}), 400, "sampling_params.spaces_between_special_tokens", "unsupported_parameter", "not supported"},
		"on top":       {object{"text": "a", "temperature": 0.5}, 400, "temperature", "unknown_parameter", `put it in sampling_params: {"text": "…", "sampling_params": {…}}`},
		"limit on top": {object{"text": "a", "max_new_tokens": 5}, 400, "max_new_tokens", "unknown_parameter", "put it in sampling_params"},
		"near on top":  {object{"text": "a", "max_tokens": 5}, 400, "max_tokens", "unknown_parameter", "put it in sampling_params"},
		"regex on top": {object{"text": "a", "regex": "a*"}, 400, "regex", "unknown_parameter", "put it in sampling_params"},
		"too deep":     {sampling(object{"stream": true}), 400, "sampling_params.stream", "unknown_parameter", "put it next to sampling_params, not in it"},
		"lora":         {object{"text": "a", "lora_path": "x"}, 400, "lora_path", "unsupported_parameter", "not supported"},
		"top":          {object{"text": "a", "return_logprob": true, "top_logprobs_num": 21}, 400, "top_logprobs_num", nil, "between 0 and 20"},
		"top alone":    {object{"text": "a", "top_logprobs_num": 2}, 400, "top_logprobs_num", nil, "return_logprob"},
		"start":        {object{"text": "a", "return_logprob": true, "logprob_start_len": -2}, 400, "logprob_start_len", nil, "position"},
		"start beyond": {object{"text": []string{onceUpon, "a"}, "return_logprob": true, "logprob_start_len": 5}, 400, "logprob_start_len", nil, "request 2 of 2: logprob_start_len is 5; it must be at most 2, the number of tokens of the prompt"},
		"start alone":  {object{"text": "a", "logprob_start_len": 0}, 400, "logprob_start_len", nil, "return_logprob"},
	})
}

func TestBadTokenizing(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	refuse(t, s, "/tokenize", map[string]badBody{
		"nothing": {object{}, 400, "prompt", nil, "missing"},
		"both":    {object{"prompt": "a", "text": "b"}, 400, "text", nil, "both"},
		"number":  {object{"text": 3}, 400, "text", nil, "a string"},
		"null":    {object{"prompt": list{"a", nil}}, 400, "prompt", nil, "prompt[1] is null"},
		"model":   {object{"prompt": "a", "model": "x"}, 404, "model", "model_not_found", "not served"},
	})
	refuse(t, s, "/detokenize", map[string]badBody{
		"nothing": {object{}, 400, "tokens", nil, "missing"},
		"text":    {object{"tokens": "a"}, 400, "tokens", nil, "array"},
		"range":   {object{"tokens": list{1 << 30}}, 400, "tokens", "token_out_of_vocabulary", "index 0"},
		"inner":   {object{"tokens": list{list{1}, list{"x"}}}, 400, "tokens[1]", nil, "tokens[1][0]"},
	})
	refuse(t, s, "/abort_request", map[string]badBody{
		"nothing": {object{}, 400, "rid", nil, "missing"},
		"type":    {object{"rid": 3}, 400, "rid", nil, "a string"},
	})
}

func TestBadBodies(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{MaxBodyBytes: 2000}})
	for path, key := range map[string]string{"/v1/chat/completions": "model", "/v1/completions": "model", "/generate": "rid", "/tokenize": "model", "/detokenize": "model", "/abort_request": "rid"} {
		refuse(t, s, path, map[string]badBody{
			"nothing":   {"", 400, nil, nil, "the request body is empty"},
			"cut":       {`{"` + key + `": "fa`, 400, nil, nil, "incomplete JSON"},
			"syntax":    {`{"` + key + `": }`, 400, nil, nil, fmt.Sprintf("not valid JSON at byte %d:", len(key)+5)},
			"array":     {`[1]`, 400, nil, nil, "must be a JSON object, not an array"},
			"null":      {`null`, 400, nil, nil, "must be a JSON object, not null"},
			"string":    {`"x"`, 400, nil, nil, "must be a JSON object, not a string"},
			"two":       {`{} {}`, 400, nil, nil, "more text follows"},
			"not UTF-8": {"{\"model\": \"\xff\"}", 400, nil, nil, "UTF-8 at byte 11"},
			"too large": {`{"model": "` + strings.Repeat("x", 3000) + `"}`, 413, nil, nil, "2000 bytes"},
		})
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded"} {
			a := send(t, s, "POST", path, `{}`, "Content-Type", kind)
			if e := errorOf(t, a); a.status != http.StatusUnsupportedMediaType || !strings.Contains(e["message"].(string), "application/json") {
				t.Errorf("%s with type %q: %d %s", path, kind, a.status, a.body)
			}
		}
	}
}

// What an error quotes is bounded.
func TestErrorsStayShort(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	long := strings.Repeat("é", 100000)
	for _, body := range []object{{"model": long}, {long: 1}, {"messages": list{object{"role": long, "content": ""}}}, {"logit_bias": object{long: 1}},
		{"messages": list{object{"role": "user", "content": list{object{"type": long}}}}}} {
		a := send(t, s, "POST", "/v1/chat/completions", body)
		if errorOf(t, a); len(a.body) > 2000 {
			t.Errorf("an error of %d bytes: %s…", len(a.body), a.body[:200])
		}
	}
	if logs := s.Logs(); len(logs) > 20000 {
		t.Errorf("the log has %d bytes", len(logs))
	}
}

func TestUnknownEndpointsAndMethods(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for path, method := range map[string]string{"/": "GET", "/v1/embeddings": "POST", "/v1/chat": "POST"} {
		a := send(t, s, method, path, nil)
		if e := errorOf(t, a); a.status != http.StatusNotFound || e["code"] != "not_found" {
			t.Errorf("%s: %d %v", path, a.status, e)
		}
	}
	for path, method := range map[string]string{"/v1/chat/completions": "GET", "/v1/models": "POST", "/flush_cache": "GET", "/metrics": "DELETE", "/v1/models/x": "PUT"} {
		a := send(t, s, method, path, nil)
		errorOf(t, a)
		if allow := a.header.Get("Allow"); a.status != http.StatusMethodNotAllowed || allow == "" || allow == method {
			t.Errorf("%s %s: %d, Allow %q", method, path, a.status, allow)
		}
	}
}
