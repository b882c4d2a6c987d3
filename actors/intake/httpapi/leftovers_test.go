package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
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

// However many fields a client makes up, the header stays short, and only plain names get there.
func TestTheNamesAreBounded(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	many := object{"Weird-Näme": 1, "with\nline": 2}
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
	if e := errorOf(t, a); a.status != http.StatusBadRequest || e["code"] != "unknown_parameter" || len(e["message"].(string)) > 1100 {
		t.Errorf("%d %v", a.status, e)
	}
}

// One error names everything that must change in a request.
func TestAllRefusedFieldsAreInOneError(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := merge(bases["/v1/chat/completions"], object{"tools": list{object{}}, "response_format": object{"type": "json_object"}, "lora_path": "x",
		"stream": true, "stream_options": object{"continuous_usage_stats": true}})
	e := errorOf(t, send(t, s, "POST", "/v1/chat/completions", body))
	for _, want := range []string{"4 parameters are refused", "tools is not supported; leave it out; describe the tools in a message", "response_format is not supported; only", "lora_path is not supported", "stream_options.continuous_usage_stats is not supported"} {
		if !strings.Contains(e["message"].(string), want) {
			t.Errorf("%q is not in %v", want, e["message"])
		}
	}
	if e["code"] != "unsupported_parameter" {
		t.Errorf("the code is %v", e["code"])
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
		"repeat_penalty": {{"repeat_penalty": 1.9}, {"repetition_penalty": 1.9}},
		"num_predict":    {{"max_tokens": nil, "num_predict": 5}, {"max_tokens": 5}},
		"n_predict":      {{"max_tokens": nil, "n_predict": 5}, {"max_tokens": 5}},
		"max_new_tokens": {{"max_tokens": nil, "max_new_tokens": 5}, {"max_tokens": 5}},
		"no limit":       {{"max_tokens": -1}, {"max_tokens": nil}},
		"until full":     {{"max_tokens": nil, "num_predict": -2}, {"max_tokens": nil}},
		"random_seed":    {{"seed": nil, "random_seed": 77}, {"seed": 77}},
		"stop string":    {{"stop": "e", "include_stop_str_in_output": true}, {"stop": "e", "no_stop_trim": true}},
		"a wide num_ctx": {{"num_ctx": 1 << 20}, {}},
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
