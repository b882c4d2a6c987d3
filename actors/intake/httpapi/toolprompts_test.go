package httpapi_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// prompts keeps the prompts that a model gets.
type prompts struct {
	mu   sync.Mutex
	last string
}

func (p *prompts) script(say func(string) string) func(string) string {
	return func(prompt string) string {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = prompt
		return say(prompt)
	}
}

func (p *prompts) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func withoutGrammars(httpapi.Grammars) httpapi.Grammars { return nil }

// What the template gets of tools and earlier calls.
func TestToolsInThePrompt(t *testing.T) {
	var seen prompts
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: dialogues["hermes"].template, Script: seen.script(func(string) string { return "Yes." }), Grammars: withoutGrammars})
	f := function("f", object{"description": "A tool.", "parameters": object{"type": "object", "properties": object{"z": object{}, "a": object{}}}})
	const shown = `Tools:{"type": "function", "function": {`
	ask := func(name string, more object) string {
		t.Helper()
		post(t, s, "/v1/chat/completions", merge(object{"messages": list{object{"role": "user", "content": name}}, "max_tokens": 20}, more))
		return seen.take()
	}
	for name, c := range map[string]struct {
		more   object
		has    []string
		hasNot []string
	}{
		"order of keys stays": {object{"tools": json.RawMessage(`[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}}]`)},
			[]string{`Tools:{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}}`}, nil},
		"what is enforced is not shown": {object{"tools": list{function("f", object{"strict": true})}}, []string{shown + `"name": "f"}}`}, []string{`"strict"`}},
		"none hides the tools":          {object{"tools": list{f}, "tool_choice": "none"}, nil, []string{"Tools:"}},
		"an empty list is none":         {object{"tools": list{}}, nil, []string{"Tools:"}},
		"allowed_tools shows all": {object{"tools": list{f, function("g")}, "tool_choice": object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list{function("g")}}}},
			[]string{`"name": "f"`, `"name": "g"`}, nil},
		"functions are tools": {object{"functions": list{object{"name": "f"}}}, []string{shown + `"name": "f"}}`}, nil},
		"a custom tool is a function of a text": {object{"tools": list{object{"type": "custom", "custom": object{"name": "c", "description": "Runs code.", "format": object{"type": "text"}}}}},
			[]string{`"name": "c"`, `"parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"], "additionalProperties": false}`}, []string{"format"}},
		"arguments become objects": {object{"messages": list{question, object{"role": "assistant", "content": nil, "tool_calls": list{object{"id": "1", "type": "function", "function": object{"name": "f", "arguments": `{"b":1,"a":[true]}`}}}},
			object{"role": "tool", "tool_call_id": "1", "content": list{object{"type": "text", "text": "42"}}}}},
			[]string{`<|assistant|>` + "\n<tool_call>\n" + `{"name": "f", "arguments": {"b": 1, "a": [true]}}`, "Result: 42"}, []string{"None"}},
		"function_call and its role": {object{"messages": list{question, object{"role": "assistant", "content": "", "function_call": object{"name": "f", "arguments": "{}"}}, object{"role": "function", "name": "f", "content": "42"}}},
			[]string{`{"name": "f", "arguments": {}}`, "Result: 42"}, nil},
		"a custom call": {object{"messages": list{question, object{"role": "assistant", "content": nil, "tool_calls": list{object{"id": "1", "type": "custom", "custom": object{"name": "c", "input": "x = 1"}}}}, object{"role": "tool", "tool_call_id": "1", "content": "done"}}},
			[]string{`{"name": "c", "arguments": {"input": "x = 1"}}`}, nil},
		"a call without arguments": {object{"messages": list{question, object{"role": "assistant", "content": nil, "tool_calls": list{object{"id": "1", "type": "function", "function": object{"name": "f"}}}}, object{"role": "tool", "tool_call_id": "1", "content": "done"}}},
			[]string{`{"name": "f", "arguments": {}}`}, nil},
		"earlier thoughts": {object{"messages": list{question, object{"role": "assistant", "content": "No.", "reasoning": "Why?"}, question}}, []string{"<think>\nWhy?\n</think>\n\nNo."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			prompt := ask(name, c.more)
			for _, text := range c.has {
				if !strings.Contains(prompt, text) {
					t.Errorf("%q is not in the prompt %q", text, prompt)
				}
			}
			for _, text := range c.hasNot {
				if strings.Contains(prompt, text) {
					t.Errorf("%q is in the prompt %q", text, prompt)
				}
			}
		})
	}
}

// A template without tools gets them as text, and calls and results as messages that it knows.
func TestToolsAsText(t *testing.T) {
	var seen prompts
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Script: seen.script(func(string) string { return "Yes." })})
	call := func(id, name string) object {
		return object{"id": id, "type": "function", "function": object{"name": name, "arguments": `{"a": 1}`}}
	}
	history := list{question, object{"role": "assistant", "content": nil, "tool_calls": list{call("1", "f"), call("2", "g")}},
		object{"role": "tool", "tool_call_id": "1", "content": "one"}, object{"role": "tool", "tool_call_id": "2", "content": "two"}}
	post(t, s, "/v1/chat/completions", object{"messages": history, "tools": list{function("f"), function("g")}, "tool_choice": "none", "max_tokens": 20})
	const want = "<|bos|><|user|>What is the weather in Oslo?<|end|><|assistant|>" + `[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {"a": 1}}]` +
		"<|end|><|user|>Result of f: one\nResult of g: two<|end|><|assistant|>"
	if got := seen.take(); got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

// A model may have a template for conversations with tools, beside the one for others.
func TestTwoTemplates(t *testing.T) {
	var seen prompts
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, ToolTemplate: dialogues["hermes"].template, Script: seen.script(dialogues["hermes"].says)})
	ask := func(more object) object {
		return post(t, s, "/v1/chat/completions", merge(object{"messages": list{question}, "max_tokens": 300}, more))
	}
	ask(object{})
	if got := seen.take(); !strings.HasPrefix(got, "<|bos|><|user|>") {
		t.Errorf("without tools the prompt is %q", got)
	}
	got := ask(object{"tools": weatherTools})
	if prompt := seen.take(); !strings.HasPrefix(prompt, "<|user|>Tools:") {
		t.Errorf("with tools the prompt is %q", prompt)
	}
	message := at(t, got, "choices", 0, "message").(object)
	checkCalls(t, message, dialogues["hermes"])
	ask(object{"messages": list{question, message, object{"role": "tool", "tool_call_id": "x", "content": "rain"}}})
	if prompt := seen.take(); !strings.Contains(prompt, "<tool_call>\n{") || !strings.Contains(prompt, "Result: rain") {
		t.Errorf("after calls the prompt is %q", prompt)
	}
}
