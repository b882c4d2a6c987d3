package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

const ignoredHeader = "X-Troupe-Ignored-Fields"

// bases are the smallest bodies of the endpoints that generate.
var bases = map[string]object{
	"/v1/chat/completions": {"messages": hello, "max_tokens": 2, "seed": 3},
	"/v1/completions":      {"prompt": "a", "max_tokens": 2, "seed": 3},
	"/generate":            {"text": "a", "sampling_params": object{"max_new_tokens": 2, "seed": 3}},
}

// textOf is the output of a call.
func textOf(t *testing.T, a answer) string {
	t.Helper()
	var got struct {
		Text    string
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal(a.body, &got); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if len(got.Choices) > 0 {
		return got.Choices[0].Text + got.Choices[0].Message.Content
	}
	return got.Text
}

// Fields that only advise, and unknown ones, change nothing and are named.
func TestFieldsWithoutEffectAreNamed(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Log: zerolog.DebugLevel})
	for path, base := range bases {
		plain := send(t, s, "POST", path, base)
		want := textOf(t, plain)
		if got := plain.header.Get(ignoredHeader); got != "" {
			t.Errorf("%s: without such fields the header is %q", path, got)
		}
		advice := object{"store": true, "service_tier": "flex", "verbosity": "low", "keep_alive": "5m", "session_id": "s", "cache_prompt": false,
			"metadata": object{"a": "b"}, "prompt_cache_key": "k", "safety_identifier": "x", "colour_of_the_sky": 5, "temprature": 0}
		a := send(t, s, "POST", path, merge(base, advice))
		if got := textOf(t, a); got != want {
			t.Errorf("%s: the text is %q, want %q", path, got, want)
		}
		names := strings.Split(a.header.Get(ignoredHeader), ", ")
		slices.Sort(names)
		if wanted := []string{"cache_prompt", "colour_of_the_sky", "keep_alive", "metadata", "prompt_cache_key", "safety_identifier", "service_tier", "session_id", "store", "temprature", "verbosity"}; !slices.Equal(names, wanted) {
			t.Errorf("%s: named are %q", path, names)
		}
		// null means "not given".
		if a := send(t, s, "POST", path, merge(base, object{"store": nil, "regex": nil, "tools": nil})); a.status != http.StatusOK || a.header.Get(ignoredHeader) != "" {
			t.Errorf("%s: nulls: %d, header %q", path, a.status, a.header.Get(ignoredHeader))
		}
	}
	if !strings.Contains(s.Logs(), "colour_of_the_sky") || !strings.Contains(s.Logs(), "fields of a request have no effect") {
		t.Error("the fields are not in the log of level debug")
	}
}

// Names in the styles of programming languages get into the header, others are counted.
func TestTheHeaderHasNamesOfEveryStyle(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Log: zerolog.DebugLevel})
	for _, c := range []struct {
		fields object
		want   string
	}{
		{object{"maxTokens": 1}, "maxTokens"},
		{object{"x-y": 1}, "x-y"},
		{object{"TopK": 1, "ünknown": 1, "a b": 1}, "TopK, and 2 more"},
		{object{"a, b": 1, "c\r\nSet-Cookie: d": 1, "": 1, "1x": 1, "-x": 1, "x.y.z": 1}, "6 more"},
	} {
		a := send(t, s, "POST", "/v1/completions", merge(bases["/v1/completions"], c.fields))
		if got := a.header.Get(ignoredHeader); a.status != http.StatusOK || got != c.want {
			t.Errorf("%v: %d, header %q, want %q", c.fields, a.status, got, c.want)
		}
	}
	if logs := s.Logs(); strings.Contains(logs, "maxTokens") || !strings.Contains(logs, `"others":6`) {
		t.Error("names that parameters of APIs do not have are in the log")
	}
}

// However many fields a client makes up, the header stays short, and only plain names get there.
func TestTheNamesAreBounded(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	many := object{"Weird-Näme": 1, "with\nline": 2, strings.Repeat("long", 1000): 3}
	for i := range 5000 {
		many[fmt.Sprintf("field_%d", i)] = i
	}
	a := send(t, s, "POST", "/v1/completions", merge(bases["/v1/completions"], many))
	if got := a.header.Get(ignoredHeader); a.status != http.StatusOK || len(got) > 1000 || !strings.HasSuffix(got, " more") || strings.Contains(got, "Weird") {
		t.Errorf("%d, header %q", a.status, got)
	}
	// Errors are bounded, too.
	s = testserver.Start(t, testserver.Options{HTTP: httpapi.Options{UnknownFields: httpapi.UnknownFieldsRefuse}})
	a = send(t, s, "POST", "/v1/completions", merge(bases["/v1/completions"], many))
	e := errorOf(t, a)
	if message := e["message"].(string); a.status != http.StatusBadRequest || e["code"] != "unknown_parameter" || len(message) > 10000 ||
		!strings.HasPrefix(message, "5003 parameters are refused; the first 64 are named here. ") {
		t.Errorf("%d %v", a.status, e)
	}
}

// One error names everything that must change in a request.
func TestAllRefusedFieldsAreInOneError(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := merge(bases["/v1/chat/completions"], object{"documents": list{"a"}, "guided_whitespace_pattern": " ?", "lora_path": "x",
		"stream": true, "stream_options": object{"continuous_usage_stats": true}})
	e := errorOf(t, send(t, s, "POST", "/v1/chat/completions", body))
	for _, want := range []string{"4 parameters are refused. ", "documents: leave it out", "guided_whitespace_pattern: leave it out", "lora_path: leave it out", "stream_options.continuous_usage_stats: leave it out"} {
		if !strings.Contains(e["message"].(string), want) {
			t.Errorf("%q is not in %v", want, e["message"])
		}
	}
	if e["code"] != "unsupported_parameter" {
		t.Errorf("the code is %v", e["code"])
	}
}

// The error has room for every field that is known and refused, and names its remedy once.
func TestTheErrorHasRoomForEveryField(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	const names = "guided_whitespace_pattern documents samplers suffix audio lora system best_of mirostat top_a num_beams stop_regex negative_prompt prompt_embeds guidance_scale max_length text echo logits_processors images n_probs"
	fields := merge(object{"colour": 1}, bases["/v1/chat/completions"])
	for _, name := range strings.Fields(names) {
		fields[name] = "zzz"
	}
	message := errorOf(t, send(t, s, "POST", "/v1/chat/completions", fields))["message"].(string)
	if !strings.HasPrefix(message, "21 parameters are refused. ") || strings.HasSuffix(message, "…") {
		t.Errorf("%s", message)
	}
	for _, name := range strings.Fields(names) {
		if n := len(regexp.MustCompile(`(^|[ ,])`+name+`[,:]`).FindAllString(message, -1)); n != 1 {
			t.Errorf("%s is named %d times in %s", name, n, message)
		}
	}
	if n := strings.Count(message, "this server reads and writes text only"); n != 1 {
		t.Errorf("the remedy of audio and images is there %d times", n)
	}
}

func TestUnknownFieldsCanBeRefused(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{UnknownFields: httpapi.UnknownFieldsRefuse}})
	for path, base := range bases {
		wantError(t, path, send(t, s, "POST", path, merge(base, object{"temprature_x": 1})), 400, "unknown_parameter", "temprature_x", "not a parameter of this endpoint")
		if a := send(t, s, "POST", path, merge(base, object{"store": true})); a.status != http.StatusOK || a.header.Get(ignoredHeader) != "store" {
			t.Errorf("%s: a known field that only advises: %d %s", path, a.status, a.body)
		}
	}
	wantError(t, "a slip", send(t, s, "POST", "/v1/completions", merge(bases["/v1/completions"], object{"temprature": 1})), 400, "unknown_parameter", "temprature", "did you mean temperature?")
}

// Names and values of other servers mean the same here.
func TestNamesOfOtherServers(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 64})
	const path = "/v1/completions"
	base := object{"prompt": onceUpon, "seed": 5, "max_tokens": 12, "temperature": 1.5}
	text := func(o object) string { return textOf(t, send(t, s, "POST", path, merge(base, o))) }
	for name, pair := range map[string][2]object{
		"repeat_penalty":     {{"repeat_penalty": 1.9}, {"repetition_penalty": 1.9}},
		"num_predict":        {{"max_tokens": nil, "num_predict": 5}, {"max_tokens": 5}},
		"n_predict":          {{"max_tokens": nil, "n_predict": 5}, {"max_tokens": 5}},
		"max_new_tokens":     {{"max_tokens": nil, "max_new_tokens": 5}, {"max_tokens": 5}},
		"max_completion":     {{"max_tokens": nil, "max_completion_tokens": 5}, {"max_tokens": 5}},
		"no limit":           {{"max_tokens": -1}, {"max_tokens": nil}},
		"no limit beside 12": {{"n_predict": -1, "num_predict": -2}, {}},
		"until full":         {{"max_tokens": nil, "num_predict": -2}, {"max_tokens": nil}},
		"random_seed":        {{"seed": nil, "random_seed": 77}, {"seed": 77}},
		"sampling_seed":      {{"seed": nil, "sampling_seed": 77}, {"seed": 77}},
		"min_new_tokens":     {{"min_new_tokens": 12}, {"min_tokens": 12}},
		"stop string":        {{"stop": "e", "include_stop_str_in_output": true}, {"stop": "e", "no_stop_trim": true}},
		"a wide num_ctx":     {{"num_ctx": 1 << 20}, {}},
		"do_sample true":     {{"do_sample": true}, {}},
		"do_sample false":    {{"do_sample": false, "temperature": nil}, {"temperature": 0}},
		"greedy twice":       {{"do_sample": false, "temperature": 0}, {"temperature": 0}},
		"options": {{"temperature": nil, "max_tokens": nil, "options": object{"temperature": 1.25, "num_predict": 5, "num_gpu": 1, "stop": nil, "stop_token_ids": nil}},
			{"temperature": 1.25, "max_tokens": 5}},
		"options beside equal ones": {{"options": object{"temperature": 1.5, "seed": 5, "num_predict": -1}}, {}},
		"repeat_last_n":             {{"repeat_last_n": 64, "repetition_penalty": 1}, {"repetition_penalty": 1}},
		"repeat_last_n -1":          {{"repeat_last_n": -1, "repetition_penalty": 1.9}, {"repetition_penalty": 1.9}},
		"penalize_nl":               {{"penalize_nl": false, "penalize_newline": false}, {}},
		"no time limit":             {{"t_max_predict_ms": -1}, {}},
	} {
		if got, want := text(pair[0]), text(pair[1]); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// A small context limits prompt and output together.
	var a struct {
		Usage struct {
			PromptTokens     int `json:"prompt_tokens"`
			CompletionTokens int `json:"completion_tokens"`
		}
	}
	r := send(t, s, "POST", path, merge(base, object{"max_tokens": -1, "num_ctx": 10, "ignore_eos": true}))
	if err := json.Unmarshal(r.body, &a); err != nil || a.Usage.PromptTokens+a.Usage.CompletionTokens != 10 {
		t.Errorf("num_ctx of 10: %s", r.body)
	}
	wantError(t, "num_ctx", send(t, s, "POST", path, merge(base, object{"num_ctx": 1})), 400, "context_length_exceeded", "num_ctx", "leaves no room for output")
}

// Ollama's options are honoured at every endpoint, and what they do not have is treated as
// anywhere else.
func TestOptions(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for path, base := range bases {
		body := merge(base, object{"max_tokens": nil, "options": object{"num_predict": 3, "temperature": 0, "num_gpu": 1, "mystery": 2}})
		want := merge(base, object{"max_tokens": 3, "temperature": 0})
		if path == "/generate" {
			body = merge(body, object{"sampling_params": object{"seed": 3}})
			want = object{"text": "a", "sampling_params": object{"max_new_tokens": 3, "temperature": 0, "seed": 3}}
			delete(body, "max_tokens")
		}
		a := send(t, s, "POST", path, body)
		if got, plain := textOf(t, a), textOf(t, send(t, s, "POST", path, want)); got != plain {
			t.Errorf("%s: %q, want %q", path, got, plain)
		}
		if got := a.header.Get(ignoredHeader); got != "options.mystery, options.num_gpu" && got != "options.num_gpu, options.mystery" {
			t.Errorf("%s: named are %q", path, got)
		}
		for name, c := range map[string]badBody{
			"another temperature": {object{"temperature": 0.5, "options": object{"temperature": 1}}, 400, "options.temperature", nil, "temperature and options.temperature are both given and differ"},
			"another limit":       {object{"options": object{"num_predict": 9}}, 400, "num_predict", nil, "both given and differ"},
			"another type":        {object{"options": "fast"}, 400, "options", nil, "options must be an object"},
			"a wrong value":       {object{"options": object{"top_k": "many"}}, 400, "options.top_k", nil, "a 64-bit integer"},
			"a wrong place":       {object{"options": object{"stream": true}}, 400, "options.stream", "unknown_parameter", "put it next to options, not in it"},
			"not supported":       {object{"options": object{"mirostat": 1}}, 400, "options.mirostat", "unsupported_parameter", "use temperature"},
			"another's limit":     {object{"options": object{"max_output_tokens": 9}}, 400, "options.max_output_tokens", "unsupported_parameter", map[string]string{"/generate": "use max_new_tokens"}[path]},
			"thinking":            {object{"options": object{"think": true}}, 400, "options.think", "unknown_parameter", "put it next to options, not in it"},
			"a name of the body":  {object{"options": object{"rid": "a"}}, 400, "options.rid", "unknown_parameter", "put it next to options, not in it"},
		} {
			sent, param := c.body.(object), c.param
			if path == "/generate" {
				params := object{"max_new_tokens": 2}
				if temperature := sent["temperature"]; temperature != nil {
					params["temperature"] = temperature
				}
				sent = object{"sampling_params": params, "options": sent["options"]}
				if name == "another limit" {
					param = "sampling_params.num_predict"
				}
			}
			if name == "thinking" && path != "/v1/chat/completions" {
				continue // which has no effect there
			}
			wantError(t, path+" "+name, send(t, s, "POST", path, merge(base, sent)), c.status, c.code, param, c.words)
		}
	}
}

// What would change the answer is refused at every endpoint, and values that change
// nothing are taken.
func TestFieldsThatWouldChangeTheAnswer(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	put := func(path string, fields object) answer {
		body := merge(bases[path], fields)
		if path == "/generate" {
			body = merge(bases[path], object{"sampling_params": merge(bases[path]["sampling_params"].(object), fields)})
		}
		return send(t, s, "POST", path, body)
	}
	greedy := object{"do_sample": false, "temperature": 0.5}
	penalty := func(o object) object { return merge(object{"repeat_penalty": 1.5}, o) }
	for path := range bases {
		for _, fields := range []object{
			{"mirostat": 0}, {"top_a": 0}, {"eta_cutoff": 0.0}, {"typical_p": 1}, {"diversity_penalty": 0}, {"num_beams": 1}, {"length_penalty": 1}, {"top_n_sigma": -1}, {"adaptive_target": -1},
			{"best_of": 1}, {"system": ""}, {"no_repeat_ngram_size": 0}, {"guidance_scale": 1}, {"cfg_scale": 1.0}, {"negative_prompt": ""}, {"prompt_embeds": nil}, {"do_sample": true},
			{"response_format": object{"type": "text"}}, {"tools": list{}}, {"suffix": nil}, {"seed": 3, "sampling_seed": 3}, {"t_max_predict_ms": -1}, {"num_predict": -1},
			{"repeat_last_n": 64}, {"penalize_nl": false}, {"penalize_newline": false}, penalty(object{"repeat_last_n": -1}),
		} {
			if a := put(path, fields); a.status != http.StatusOK {
				t.Errorf("%s with %v: %d %s", path, fields, a.status, a.body)
			}
		}
		for want, fields := range map[string]object{
			"mirostat": {"mirostat": 1}, "top_a": {"top_a": 1}, "epsilon_cutoff": {"epsilon_cutoff": 1.0}, "typical_p": {"typical_p": 0}, "diversity_penalty": {"diversity_penalty": 1},
			"adaptive_target": {"adaptive_target": 0}, "best_of": {"best_of": 2}, "system": {"system": "Be brief."}, "instructions": {"instructions": "Be brief."},
			"no_repeat_ngram_size": {"no_repeat_ngram_size": 3}, "guidance_scale": {"guidance_scale": 1.5}, "cfg_scale": {"cfg_scale": 2}, "negative_prompt": {"negative_prompt": "war"},
			"prompt_embeds": {"prompt_embeds": list{1.0}}, "do_sample": greedy, "repeat_last_n": penalty(object{"repeat_last_n": 64}), "penalize_nl": penalty(object{"penalize_nl": false}),
			"penalize_newline": {"presence_penalty": 1, "penalize_newline": false},
			"suffix":           {"suffix": "end"}, "n_probs": {"n_probs": 3}, "audio": {"audio": object{}}, "max_output_tokens": {"max_output_tokens": 2}, "extra_body": {"extra_body": object{"top_k": 1}},
		} {
			a := put(path, fields)
			e := errorOf(t, a)
			if param := strings.TrimPrefix(fmt.Sprint(e["param"]), "sampling_params."); a.status != http.StatusBadRequest || param != want {
				t.Errorf("%s with %v: %d %v", path, fields, a.status, e)
			}
		}
	}
	e := errorOf(t, put("/v1/chat/completions", object{"system": "Be brief."}))
	if !strings.Contains(e["message"].(string), "put it into a system message") {
		t.Errorf("system: %v", e)
	}
}

// Padding hides the lengths of tokens. A stream without it has the same text.
func TestObfuscationOnlyAdvises(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		for value, want := range map[any]string{true: "stream_options.include_obfuscation", false: "", nil: ""} {
			a := send(t, s, "POST", path, merge(bases[path], object{"stream": true, "stream_options": object{"include_obfuscation": value}}))
			if got := a.header.Get(ignoredHeader); a.status != http.StatusOK || got != want || strings.Contains(string(a.body), "obfuscation") {
				t.Errorf("%s with %v: %d, header %q, want %q", path, value, a.status, got, want)
			}
		}
	}
}

// What other servers answer at these paths, SDKs and users try here.
func TestOtherEndpointsHaveARemedy(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for path, want := range map[string]string{"/v1/responses": "POST /v1/chat/completions", "/api/chat": "base URL http://HOST:PORT/v1", "/chat/completions": "needs /v1",
		"/v1/messages": "Anthropic", "/v1/embeddings": "not implemented", "/completion": "/v1/completions", "/x": "to generate text use"} {
		wantError(t, path, send(t, s, "POST", path, object{}), 404, "not_found", nil, want)
	}
	a := send(t, s, "OPTIONS", "/v1/chat/completions", nil, "Origin", "http://page.example", "Access-Control-Request-Method", "POST")
	wantError(t, "preflight", a, 403, "origin_not_allowed", nil, `web pages of the origin "http://page.example" are not allowed to call this server; add the origin to cors-origins`)
}

// Clients size their prompts by the context length.
func TestModelsTellTheirContext(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 96})
	for _, path := range []string{"/v1/models", "/v1/models/" + testserver.ModelID} {
		if a := send(t, s, "GET", path, nil); !strings.Contains(string(a.body), `"max_model_len":96,"context_length":96`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}
