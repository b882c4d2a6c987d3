package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// fuzzBody sends any body through the whole server: the answer is a result or an
// error of the client, never a fault of the server.
func fuzzBody(f *testing.F, path string, seeds []string) {
	fuzzServer(f, testserver.Options{Context: 64, Log: zerolog.Disabled}, path, seeds)
}

func fuzzServer(f *testing.F, opt testserver.Options, path string, seeds []string) {
	s := testserver.Start(f, opt)
	handler := s.HTTP.Handler()
	for _, body := range seeds {
		f.Add([]byte(body))
		f.Add([]byte(strings.ReplaceAll(body, "}", "")))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequestWithContext(t.Context(), "POST", path, bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code >= 500 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			if data := readEvents(t, w.Body); len(data) == 0 || data[len(data)-1] != "[DONE]" {
				t.Fatalf("the stream does not end: %q", data)
			}
			return
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("status %d, not JSON: %s", w.Code, w.Body)
		}
		if w.Code != http.StatusOK {
			errorOf(t, answer{w.Code, w.Header(), w.Body.Bytes()})
		}
	})
}

func FuzzChatBody(f *testing.F) {
	fuzzBody(f, "/v1/chat/completions", []string{
		`{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}`,
		`{"messages": [{"role": "developer", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": null}], "stream": true, "stream_options": {"include_usage": true}}`,
		`{"messages": [{"role": "user", "content": "<|end|>é\ud800\u0000"}], "logprobs": true, "top_logprobs": 2, "n": 2, "max_completion_tokens": 2}`,
		`{"messages": [{"role": "user", "content": "hi"}], "chat_template_kwargs": {"messages": 3, "bos_token": null}, "stop": ["a", "b"]}`,
		`{"messages": [{"role": "tool", "content": "hi"}], "temperature": 1e999, "seed": -9223372036854775808}`,
	})
}

// FuzzToolBody sends bodies with tools, calls and thoughts to a model of a format with both.
func FuzzToolBody(f *testing.F) {
	const user = `{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 6, `
	fuzzServer(f, testserver.Options{Context: 512, Template: dialogues["hermes"].template, Log: zerolog.Disabled}, "/v1/chat/completions", []string{
		user + `"tools": [{"type": "function", "function": {"name": "f", "description": "x", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, "strict": true}}], "tool_choice": "required"}`,
		user + `"tools": [{"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-c]+"}}}}], "tool_choice": {"type": "custom", "custom": {"name": "c"}}, "stream": true, "stop": [">x", "</tool_call>"]}`,
		user + `"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}}, "n": 2, "logprobs": true}`,
		user + `"functions": [{"name": "f", "parameters": {"$ref": "#/x", "x": {"anyOf": [{"$ref": "#/x"}, {"type": "object"}]}}}], "function_call": {"name": "f"}, "stream": true, "logprobs": true}`,
		user + `"thinking_budget": 1, "thinking": {"type": "enabled", "budget_tokens": 1}, "response_format": {"type": "json_object"}, "include_reasoning": false, "stream": true}`,
		user + `"reasoning_format": "none", "separate_reasoning": false, "skip_special_tokens": false, "parallel_tool_calls": false, "tools": [], "tool_choice": "none"}`,
		`{"max_tokens": 2, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "reasoning_content": "so", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": [1]}"}}, {"id": null, "custom": {"name": "c", "input": "x"}}]}, {"role": "tool", "tool_call_id": "1", "content": "r"}, {"role": "function", "name": "f", "content": ""}, {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": {}}}]}`,
	})
}

// FuzzPlainToolBody does so to a model whose template knows neither tools nor calls.
func FuzzPlainToolBody(f *testing.F) {
	fuzzServer(f, testserver.Options{Context: 512, Log: zerolog.Disabled}, "/v1/chat/completions", []string{
		`{"max_tokens": 6, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\"a\": [1]}"}}, {"id": [2], "custom": {"name": "c", "input": null}}]}, {"role": "tool", "tool_call_id": [2], "content": "r"}, {"role": "tool", "content": ""}], "tools": [{"function": {"name": "f"}}], "tool_choice": "required"}`,
		`{"max_tokens": 6, "messages": [{"role": "tool", "content": "hi"}], "tools": [{"function": {"name": "f", "parameters": {"properties": {"a": {"const": 1}}}}}], "tool_choice": {"function": {"name": "f"}}, "stream": true}`,
	})
}

func FuzzCompletionBody(f *testing.F) {
	fuzzBody(f, "/v1/completions", []string{
		`{"prompt": "Once", "max_tokens": 3, "echo": true, "logprobs": 2}`,
		`{"prompt": ["Once", "a"], "n": 2, "stream": true, "max_tokens": 2, "echo": true, "logprobs": 1}`,
		`{"prompt": [1, 2, 3], "logit_bias": {"7": -100, "8": 1.5}, "stop_token_ids": [1], "max_tokens": 0}`,
		`{"prompt": [[1, 2], [3]], "top_p": 0, "top_k": -1, "min_p": 0.1, "stop": "x", "min_tokens": 1}`,
		`{"prompt": [[1, null], 3], "cache_salt": "x", "rid": "y", "no_stop_trim": true}`,
	})
}

func FuzzGenerateBody(f *testing.F) {
	fuzzBody(f, "/generate", []string{
		`{"text": "Once", "sampling_params": {"max_new_tokens": 3, "temperature": 0}}`,
		`{"input_ids": [[1, 2], [3]], "sampling_params": {"n": 2}, "stream": true, "rid": "x"}`,
		`{"text": "Once", "return_logprob": true, "logprob_start_len": 0, "top_logprobs_num": 2, "return_text_in_logprobs": true}`,
		`{"text": ["a", "b"], "sampling_params": {"stop": ["e"], "no_stop_trim": true, "sampling_seed": 3}, "extra_key": "x", "cache_salt": "y"}`,
	})
}
