package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// colour is a tool whose arguments have few values, so that any model ends them.
var colour = function("colour", object{"parameters": object{"type": "object", "properties": object{
	"name": object{"enum": list{"red", "green"}}, "dark": object{"type": "boolean"}}, "required": list{"name", "dark"}, "additionalProperties": false}})

var shape = function("shape", object{"parameters": object{"type": "object", "properties": object{
	"sides": object{"type": "integer", "minimum": 3, "maximum": 9}}, "required": list{"sides"}, "additionalProperties": false}})

// A model that knows nothing is made to call, in every format, as tool_choice says.
func TestToolChoice(t *testing.T) {
	for format, d := range dialogues {
		t.Run(format, func(t *testing.T) {
			s := testserver.Start(t, testserver.Options{Context: 4096, Pages: 4096, Template: d.template, EOSChance: .3})
			body := object{"messages": list{question}, "tools": list{colour, shape}, "max_tokens": 300, "thinking_budget": 5}
			for seed := range 4 {
				for name, c := range map[string]struct {
					more  object
					names string
					most  int
				}{
					"required":  {object{"tool_choice": "required"}, "colour shape", 99},
					"single":    {object{"tool_choice": "required", "parallel_tool_calls": false}, "colour shape", 1},
					"named":     {object{"tool_choice": object{"type": "function", "function": object{"name": "shape"}}}, "shape", 1},
					"allowed":   {object{"tool_choice": object{"type": "allowed_tools", "allowed_tools": object{"mode": "required", "tools": list{colour}}}}, "colour", 99},
					"with JSON": {object{"tool_choice": "required", "response_format": object{"type": "json_object"}}, "colour shape", 99},
				} {
					got := post(t, s, "/v1/chat/completions", merge(merge(body, c.more), object{"seed": seed}))
					if at(t, got, "choices", 0, "finish_reason") == "length" {
						continue // it calls and calls, or says white space
					}
					want(t, got, "tool_calls", "choices", 0, "finish_reason")
					calls := at(t, got, "choices", 0, "message", "tool_calls").([]any)
					if len(calls) < 1 || len(calls) > c.most {
						t.Errorf("%s: %d calls", name, len(calls))
					}
					for _, call := range calls {
						checkCall(t, call.(object), c.names)
					}
					want(t, got, nil, "choices", 0, "message", "content")
				}
			}
		})
	}
}

// checkCall checks a call of colour or shape.
func checkCall(t *testing.T, call object, names string) {
	t.Helper()
	f := call["function"].(object)
	var arguments struct {
		Name  *string
		Dark  *bool
		Sides *float64
	}
	if err := json.Unmarshal([]byte(f["arguments"].(string)), &arguments); err != nil || !strings.Contains(names, f["name"].(string)) {
		t.Errorf("%v: %v", f, err)
		return
	}
	switch f["name"] {
	case "colour":
		if arguments.Dark == nil || arguments.Name == nil || *arguments.Name != "red" && *arguments.Name != "green" {
			t.Errorf("%v", f)
		}
	case "shape":
		if arguments.Sides == nil || *arguments.Sides < 3 || *arguments.Sides > 9 {
			t.Errorf("%v", f)
		}
	}
}

// The older functions are answered in their form.
func TestFunctions(t *testing.T) {
	s := startDialogue(t, dialogues["llama-3"])
	functions := list{}
	for _, tool := range weatherTools {
		functions = append(functions, tool.(object)["function"])
	}
	body := object{"messages": list{question}, "functions": functions, "max_tokens": 400}
	got := post(t, s, "/v1/chat/completions", body)
	want(t, got, "function_call", "choices", 0, "finish_reason")
	want(t, got, object{"name": "weather", "arguments": `{"city": "Oslo", "days": 3}`}, "choices", 0, "message", "function_call")
	if _, has := at(t, got, "choices", 0, "message").(object)["tool_calls"]; has {
		t.Error("the message has tool_calls")
	}
	name, arguments := "", ""
	stream := chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true}))
	for _, c := range stream {
		if f, ok := at(t, c, "choices", 0, "delta").(object)["function_call"].(object); ok {
			text, _ := f["name"].(string)
			name, arguments = name+text, arguments+f["arguments"].(string)
		}
	}
	want(t, stream[len(stream)-1], "function_call", "choices", 0, "finish_reason")
	if name != "weather" || arguments != `{"city": "Oslo", "days": 3}` {
		t.Errorf("the stream calls %s(%s)", name, arguments)
	}
}

// A custom tool gets its text.
func TestCustomTools(t *testing.T) {
	d := dialogues["hermes"]
	d.called = "<tool_call>\n{\"name\": \"run\", \"arguments\": {\"input\": \"print(\\\"hi\\\")\\n\"}}\n</tool_call>"
	s := startDialogue(t, d)
	body := object{"messages": list{question}, "tools": list{object{"type": "custom", "custom": object{"name": "run"}}}, "max_tokens": 200}
	got := post(t, s, "/v1/chat/completions", body)
	call := at(t, got, "choices", 0, "message", "tool_calls", 0).(object)
	delete(call, "id")
	want(t, object{"call": call}, object{"type": "custom", "custom": object{"name": "run", "input": "print(\"hi\")\n"}}, "call")
	input := ""
	for _, c := range chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true})) {
		if calls, ok := at(t, c, "choices", 0, "delta").(object)["tool_calls"].([]any); ok {
			input += calls[0].(object)["custom"].(object)["input"].(string)
		}
	}
	if input != "print(\"hi\")\n" {
		t.Errorf("the stream has the input %q", input)
	}
}

// The text of a custom tool follows its grammar, and is read back in JSON's spelling.
func TestCustomToolsWithAGrammar(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: dialogues["llama-3"].template, EOSChance: .3})
	for syntax, definition := range map[string]string{"regex": `"[a-c]{3}"\n`, "lark": "start: \"\\\"\" /[a-c]{3}/ \"\\\"\" \"\\n\""} {
		for seed := range 5 {
			got := post(t, s, "/v1/chat/completions", object{"messages": list{question}, "max_tokens": 400, "thinking_budget": 5, "seed": seed, "tool_choice": "required", "parallel_tool_calls": false,
				"tools": list{object{"type": "custom", "custom": object{"name": "run", "format": object{"type": "grammar", "grammar": object{"syntax": syntax, "definition": definition}}}}}})
			if at(t, got, "choices", 0, "finish_reason") != "tool_calls" {
				t.Fatalf("%s: %v", syntax, got)
			}
			input, _ := at(t, got, "choices", 0, "message", "tool_calls", 0, "custom", "input").(string)
			if len(input) != 6 || input[0] != '"' || input[4] != '"' || input[5] != '\n' || strings.Trim(input[1:4], "abc") != "" {
				t.Errorf("%s: the input is %q", syntax, input)
			}
		}
	}
}

// A template without tools answers required and named calls as a list.
func TestCallsWithoutATemplateOfTools(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, EOSChance: .3})
	for seed := range 6 {
		got := post(t, s, "/v1/chat/completions", object{"messages": list{question}, "tools": list{colour, shape}, "tool_choice": "required", "parallel_tool_calls": false, "max_tokens": 400, "seed": seed})
		want(t, got, "tool_calls", "choices", 0, "finish_reason")
		for _, call := range at(t, got, "choices", 0, "message", "tool_calls").([]any) {
			checkCall(t, call.(object), "colour shape")
		}
	}
}

// response_format beside tools: the answer is a call, or content that matches.
func TestContentBesideTools(t *testing.T) {
	for said, want := range map[string]string{`{"a": 1}`: "content", "Hello": "", dialogues["llama-3"].called: "calls"} {
		d := dialogues["llama-3"]
		d.called = said
		s := startDialogue(t, d)
		got := post(t, s, "/v1/chat/completions", object{"messages": list{question}, "tools": weatherTools, "max_tokens": 300,
			"response_format": object{"type": "json_schema", "json_schema": object{"name": "n", "schema": object{"type": "object", "properties": object{"a": object{"type": "integer"}}, "additionalProperties": false}}}})
		message := at(t, got, "choices", 0, "message").(object)
		switch want {
		case "content":
			if message["content"] != said || message["tool_calls"] != nil {
				t.Errorf("%v", message)
			}
		case "calls":
			checkCalls(t, message, d)
		default: // it was made to say something else
			if text, _ := message["content"].(string); strings.Contains(text, said) {
				t.Errorf("%v", message)
			}
		}
	}
}

// Where thoughts and their marks are is a question of switches.
func TestThoughtsInAnswers(t *testing.T) {
	d := dialogues["hermes"]
	said := thoughts + "It rains."
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: d.template, Script: func(string) string { return said }})
	for name, c := range map[string]struct {
		more               object
		content, reasoning string
	}{
		"apart":       {object{}, "It rains.", "It wants the weather."},
		"together":    {object{"separate_reasoning": false}, said, ""},
		"llama.cpp's": {object{"reasoning_format": "none"}, said, ""},
		"deepseek":    {object{"reasoning_format": "deepseek"}, "It rains.", "It wants the weather."},
		"left out":    {object{"include_reasoning": false}, "It rains.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := merge(object{"messages": list{question}, "max_tokens": 100}, c.more)
			got := post(t, s, "/v1/chat/completions", body)
			message := at(t, got, "choices", 0, "message").(object)
			reasoning, _ := message["reasoning_content"].(string)
			if message["content"] != c.content || reasoning != c.reasoning {
				t.Errorf("%v", message)
			}
			if n := at(t, got, "usage", "completion_tokens_details", "reasoning_tokens").(float64); n < 5 || n > at(t, got, "usage", "completion_tokens").(float64) {
				t.Errorf("%v tokens are thoughts", n)
			}
			joined := joinDeltas(t, chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true})), "stop")
			if joined["content"] != c.content || joined["reasoning_content"] != c.reasoning {
				t.Errorf("streamed: %v", joined)
			}
		})
	}
}

// A budget ends thoughts. What follows is content, or what a grammar says.
func TestThoughtsHaveABudget(t *testing.T) {
	d := dialogues["hermes"]
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: d.template, EOSChance: .3,
		Script: func(string) string { return "<think>" + strings.Repeat("on and ", 200) }})
	for _, budget := range []int{20, 40} {
		for name, more := range map[string]object{"thinking_budget": {"thinking_budget": budget}, "budget_tokens": {"thinking": object{"type": "enabled", "budget_tokens": budget}},
			"with a grammar": {"reasoning_budget": budget, "response_format": object{"type": "json_schema", "json_schema": object{"name": "n", "schema": object{"enum": list{"a", "b"}}}}}} {
			t.Run(fmt.Sprint(name, budget), func(t *testing.T) {
				got := post(t, s, "/v1/chat/completions", merge(object{"messages": list{question}, "max_tokens": 200}, more))
				message := at(t, got, "choices", 0, "message").(object)
				n := int(at(t, got, "usage", "completion_tokens_details", "reasoning_tokens").(float64))
				if reasoning, _ := message["reasoning_content"].(string); n < budget || n > budget+12 || !strings.HasPrefix(reasoning, "on and on and") {
					t.Errorf("%d tokens of thoughts: %v", n, message)
				}
				if content := message["content"]; name == "with a grammar" && content != `"a"` && content != `"b"` {
					t.Errorf("the content is %v", content)
				}
			})
		}
	}
}

// Keywords that cannot be enforced are named in a header, or refused where the tool is strict.
func TestKeywordsThatAreNotEnforced(t *testing.T) {
	s := startDialogue(t, dialogues["hermes"])
	with := func(strict bool, schema object) object {
		return object{"messages": list{question}, "max_tokens": 300, "tools": list{weatherTools[0], function("f", object{"strict": strict, "parameters": object{"type": "object", "properties": object{"a, b\n": schema}}})}}
	}
	unique := object{"type": "array", "items": object{"type": "number"}, "uniqueItems": true}
	a := send(t, s, "POST", "/v1/chat/completions", with(false, unique))
	if got := a.header.Get("X-Troupe-Unenforced-Keywords"); a.status != 200 || got != "tools[1].function.parameters/properties/a...: uniqueItems" {
		t.Errorf("%d %s, the header is %q", a.status, a.body, got)
	}
	if got := send(t, s, "POST", "/v1/chat/completions", with(false, object{"type": "string"})).header.Values("X-Troupe-Unenforced-Keywords"); got != nil {
		t.Errorf("the header is %q although everything is enforced", got)
	}
	a = send(t, s, "POST", "/v1/chat/completions", with(true, unique))
	if e := errorOf(t, a); a.status != 400 || e["param"] != "tools[1].function.parameters" || e["code"] != "invalid_grammar" || !strings.Contains(e["message"].(string), "uniqueItems") {
		t.Errorf("strict: %d %v", a.status, e)
	}
	a = send(t, s, "POST", "/v1/chat/completions", with(false, object{"type": 3}))
	if e := errorOf(t, a); a.status != 400 || e["param"] != "tools[1].function.parameters" {
		t.Errorf("invalid: %d %v", a.status, e)
	}
}

// Ids that the model writes are kept if they are different, and not too long.
func TestIdsOfCalls(t *testing.T) {
	d := dialogues["hermes"]
	call := func(id string) string {
		return `<tool_call>{"id": "` + id + `", "name": "time", "arguments": {}}</tool_call>`
	}
	d.called = call("a") + call("a") + call(strings.Repeat("b", 65))
	s := startDialogue(t, d)
	got := post(t, s, "/v1/chat/completions", object{"messages": list{question}, "tools": weatherTools, "max_tokens": 300})
	seen := map[string]bool{}
	for i, call := range at(t, got, "choices", 0, "message", "tool_calls").([]any) {
		id := call.(object)["id"].(string)
		if (id == "a") != (i == 0) || len(id) > 64 || seen[id] {
			t.Errorf("call %d has the id %q", i, id)
		}
		seen[id] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d calls", len(seen))
	}
	earlier := object{"role": "assistant", "content": nil, "tool_calls": list{object{"id": "a", "type": "function", "function": object{"name": "time", "arguments": "{}"}}}}
	got = post(t, s, "/v1/chat/completions", object{"messages": list{question, earlier, question}, "tools": weatherTools, "max_tokens": 300})
	if id := at(t, got, "choices", 0, "message", "tool_calls", 0, "id"); id == "a" {
		t.Error("an id comes twice in a conversation")
	}
}
