package httpapi_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// The tools of these tests, in OpenAI's forms.
var (
	functionOfCity = object{"name": "weather", "description": "The weather.", "parameters": object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": list{"city"}}}
	toolOfCity     = object{"type": "function", "function": functionOfCity}
	toolOfDice     = object{"type": "custom", "custom": object{"name": "dice", "description": "Dice.", "format": object{"type": "grammar", "grammar": object{"syntax": "regex", "definition": "[1-6]d(6|20)"}}}}
	formatOfPerson = object{"type": "json_schema", "json_schema": object{"name": "person", "strict": true, "schema": json.RawMessage(
		`{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"], "additionalProperties": false}`)}}
)

func user(text string) list { return list{object{"role": "user", "content": text}} }

// withoutThoughts removes the field of a message or a delta that OpenAI's description
// lacks, and returns it.
func withoutThoughts(message object) string {
	text, _ := message["reasoning_content"].(string)
	delete(message, "reasoning_content")
	return text
}

// asFunctions writes the pieces of calls of custom tools in a chunk as those of functions:
// the description has custom tools in whole answers only.
func asFunctions(delta object) {
	pieces, _ := delta["tool_calls"].(list)
	for _, p := range pieces {
		piece := p.(object)
		custom, is := piece["custom"].(object)
		if !is {
			continue
		}
		function := object{"arguments": custom["input"]}
		if piece["type"] == "custom" {
			piece["type"], function["name"] = "function", custom["name"]
		}
		delete(piece, "custom")
		piece["function"] = function
	}
}

// Answers with calls, thoughts and structured content are OpenAI's, but for the thoughts.
func TestConformanceCalls(t *testing.T) {
	api := loadOpenAPI(t)
	s := startAssistant(t)
	for name, c := range map[string]struct {
		body    object
		finish  string
		content bool // not null
		field   string
	}{
		"calls and content": {object{"messages": user(twoCities), "tools": list{toolOfCity}}, "tool_calls", true, "tool_calls"},
		"calls only":        {object{"messages": user("The weather in Oslo and Rome, just call."), "tools": list{toolOfCity}, "tool_choice": "required"}, "tool_calls", false, "tool_calls"},
		"a custom tool":     {object{"messages": user("Roll."), "tools": list{toolOfDice}, "tool_choice": object{"type": "custom", "custom": object{"name": "dice"}}}, "tool_calls", false, "tool_calls"},
		"a function":        {object{"messages": user("The weather in Oslo and Rome, just call."), "functions": list{functionOfCity}}, "function_call", false, "function_call"},
		"no call":           {object{"messages": user("Good day."), "tools": list{toolOfCity}}, "stop", true, ""},
		"a schema":          {object{"messages": user("Anna is 30 years old."), "response_format": formatOfPerson}, "stop", true, ""},
		"cut":               {object{"messages": user("The weather in Oslo and Rome, just call."), "tools": list{toolOfCity}, "max_tokens": 45}, "length", false, "tool_calls"},
	} {
		for _, more := range []object{{}, {"n": 2}, {"logprobs": true, "top_logprobs": 2}} {
			body := merge(c.body, more)
			got := post(t, s, "/v1/chat/completions", body)
			for i := range got["choices"].(list) {
				message := at(t, got, "choices", i, "message").(object)
				if withoutThoughts(message) == "" {
					t.Errorf("%s: no thoughts in %v", name, message)
				}
				if (message["content"] != nil) != c.content || c.field != "" && message[c.field] == nil {
					t.Errorf("%s: %v", name, message)
				}
				want(t, got, c.finish, "choices", i, "finish_reason")
			}
			if tokens, _ := at(t, got, "usage", "completion_tokens_details", "reasoning_tokens").(float64); tokens == 0 {
				t.Errorf("%s: no tokens of thoughts", name)
			}
			api.check(t, "CreateChatCompletionResponse", got)

			thoughts, fields, last := "", map[string]bool{}, object{}
			for _, chunk := range chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true, "stream_options": object{"include_usage": true}})) {
				for i := range chunk["choices"].(list) {
					delta := at(t, chunk, "choices", i, "delta").(object)
					thoughts += withoutThoughts(delta)
					asFunctions(delta)
					for field := range delta {
						fields[field] = true
					}
					if reason := at(t, chunk, "choices", i, "finish_reason"); reason != nil && reason != c.finish {
						t.Errorf("%s: a stream ended with %v, want %s", name, reason, c.finish)
					}
				}
				api.check(t, "CreateChatCompletionStreamResponse", chunk)
				last = chunk
			}
			if thoughts == "" || c.field != "" && !fields[c.field] {
				t.Errorf("%s: the stream has the thoughts %q and the fields %v", name, thoughts, fields)
			}
			if tokens, _ := at(t, last, "usage", "completion_tokens_details", "reasoning_tokens").(float64); tokens == 0 {
				t.Errorf("%s: no tokens of thoughts in the stream's usage", name)
			}
		}
	}
}

// Requests as the description allows them are accepted, or refused for a reason that is
// listed here.
func TestConformanceRequestsWithTools(t *testing.T) {
	api := readOpenAPI(t, func(any) {}) // requests are an allOf, whose parts cannot be closed
	s := startAssistant(t)
	named := func(kind, name string) object { return object{"type": kind, kind: object{"name": name}} }
	allowed := func(mode string, tools ...any) object {
		return object{"type": "allowed_tools", "allowed_tools": object{"mode": mode, "tools": list(tools)}}
	}
	custom := func(format any) object {
		return object{"type": "custom", "custom": object{"name": "dice", "format": format}}
	}
	grammarOf := func(syntax, text string) object {
		return object{"type": "grammar", "grammar": object{"syntax": syntax, "definition": text}}
	}
	both := list{toolOfCity, toolOfDice}
	asked := user("The weather in Oslo and Rome, just call.")
	call := object{"id": "call_1", "type": "function", "function": object{"name": "weather", "arguments": `{"city": "Oslo"}`}}
	for name, c := range map[string]struct {
		more    object
		refused string // a part of the error; "" if the request is accepted
	}{
		"strict null":              {more: object{"tools": list{object{"type": "function", "function": merge(functionOfCity, object{"strict": nil})}}}},
		"strict":                   {more: object{"tools": list{object{"type": "function", "function": merge(functionOfCity, object{"strict": true})}}}},
		"no parameters":            {more: object{"tools": list{object{"type": "function", "function": object{"name": "now"}}}}},
		"custom":                   {more: object{"tools": list{object{"type": "custom", "custom": object{"name": "dice"}}}}},
		"custom text":              {more: object{"tools": list{custom(object{"type": "text"})}}},
		"custom regex":             {more: object{"tools": list{custom(grammarOf("regex", "[1-6]d20"))}}},
		"custom lark":              {more: object{"tools": list{custom(grammarOf("lark", "start: /[1-6]/ \"d20\""))}}},
		"none":                     {more: object{"tools": both, "tool_choice": "none"}},
		"auto":                     {more: object{"tools": both, "tool_choice": "auto"}},
		"required":                 {more: object{"tools": both, "tool_choice": "required"}},
		"a function":               {more: object{"tools": both, "tool_choice": named("function", "weather")}},
		"a custom tool":            {more: object{"tools": both, "tool_choice": named("custom", "dice")}},
		"allowed, auto":            {more: object{"tools": both, "tool_choice": allowed("auto", named("function", "weather"))}},
		"allowed, required":        {more: object{"tools": both, "tool_choice": allowed("required", named("function", "weather"), named("custom", "dice"))}},
		"one call":                 {more: object{"tools": both, "parallel_tool_calls": false}},
		"text":                     {more: object{"response_format": object{"type": "text"}}},
		"json_object":              {more: object{"response_format": object{"type": "json_object"}, "max_tokens": 50}},
		"json_schema":              {more: object{"response_format": formatOfPerson}},
		"json_schema, strict null": {more: object{"max_tokens": 50, "response_format": object{"type": "json_schema", "json_schema": object{"name": "any", "description": "Anything.", "strict": nil, "schema": object{"type": "object"}}}}},
		"tools and a schema":       {more: object{"tools": list{toolOfCity}, "response_format": formatOfPerson}},
		"functions":                {more: object{"functions": list{functionOfCity}}},
		"functions, none":          {more: object{"functions": list{functionOfCity}, "function_call": "none"}},
		"functions, auto":          {more: object{"functions": list{functionOfCity}, "function_call": "auto"}},
		"functions, one":           {more: object{"functions": list{functionOfCity}, "function_call": object{"name": "weather"}}},
		"results":                  {more: object{"tools": both, "messages": append(user("Oslo?"), object{"role": "assistant", "content": nil, "tool_calls": list{call}}, object{"role": "tool", "tool_call_id": "call_1", "content": "rain"})}},
		"results in parts":         {more: object{"tools": both, "messages": append(user("Oslo?"), object{"role": "assistant", "tool_calls": list{call}}, object{"role": "tool", "tool_call_id": "call_1", "content": list{object{"type": "text", "text": "rain"}}})}},
		"a custom result":          {more: object{"tools": both, "messages": append(user("Roll."), object{"role": "assistant", "tool_calls": list{object{"id": "call_1", "type": "custom", "custom": object{"name": "dice", "input": "1d6"}}}}, object{"role": "tool", "tool_call_id": "call_1", "content": "4"})}},
		"a function's result":      {more: object{"functions": list{functionOfCity}, "messages": append(user("Oslo?"), object{"role": "assistant", "content": nil, "function_call": object{"name": "weather", "arguments": `{"city": "Oslo"}`}}, object{"role": "function", "name": "weather", "content": "rain"})}},

		"a schema without a schema": {object{"response_format": object{"type": "json_schema", "json_schema": object{"name": "any"}}}, "no schema"},
		"an unknown tool":           {object{"tools": both, "tool_choice": named("function", "stocks")}, "not among the tools"},
		"required without tools":    {object{"tool_choice": "required"}, "there are no tools"},
	} {
		body := merge(object{"model": testserver.ModelID, "messages": asked, "max_tokens": 400}, c.more)
		api.check(t, "CreateChatCompletionRequest", body)
		accepted(t, s, name, body, c.refused)
	}

	if api.validate(t, "CreateChatCompletionRequest", object{"model": "m", "messages": asked, "tools": both, "tool_choice": "maybe"}) == nil {
		t.Error("the check of requests does not notice a wrong tool_choice")
	}

	// Those that the description itself shows.
	examples := at(t, api.document, "paths", "/chat/completions", "post", "x-oaiMeta", "examples").(list)
	shown := map[string]bool{}
	for _, e := range examples {
		title, curl := at(t, e.(object), "title").(string), at(t, e.(object), "request", "curl").(string)
		match := regexp.MustCompile(`(?s)-d '(.*)'`).FindStringSubmatch(curl)
		if match == nil {
			t.Errorf("%s has no body: %s", title, curl)
			continue
		}
		var body object
		if err := json.Unmarshal([]byte(match[1]), &body); err != nil {
			t.Fatal(err)
		}
		delete(body, "model")
		body["max_tokens"], body["stream"] = 400, false
		shown[title] = true
		accepted(t, s, title, body, map[string]string{"Image input": "image"}[title])
	}
	if !shown["Functions"] || len(shown) < 4 {
		t.Errorf("the description shows %v only", shown)
	}
}

// accepted checks that a request is accepted, or refused with a part of an error.
func accepted(t *testing.T, s *testserver.Server, name string, body object, refused string) {
	t.Helper()
	a := send(t, s, "POST", "/v1/chat/completions", body)
	switch {
	case refused == "" && a.status != 200:
		t.Errorf("%s: %d %s", name, a.status, a.body)
	case refused != "":
		if text, _ := errorOf(t, a)["message"].(string); a.status != 400 || !strings.Contains(text, refused) {
			t.Errorf("%s: %d %s, want a refusal about %q", name, a.status, a.body, refused)
		}
	}
}
