package httpapi_test

import (
	"strings"
	"testing"
)

// An output that is cut anywhere, in a character of a mark as well, has the beginning of its
// calls, and nothing of their marks as content.
func TestCutInACall(t *testing.T) {
	s := startDialogue(t, dialogues["deepseek-v3.1"])
	body := object{"messages": list{question}, "tools": weatherTools}
	whole := post(t, s, "/v1/chat/completions", body)
	for n := range int(at(t, whole, "usage", "completion_tokens").(float64)) - 1 {
		cut := merge(body, object{"max_tokens": n + 1})
		message := at(t, post(t, s, "/v1/chat/completions", cut), "choices", 0, "message").(object)
		joined := joinDeltas(t, chunks(t, s, "/v1/chat/completions", merge(cut, object{"stream": true})), "length")
		for way, m := range map[string]object{"whole": message, "streamed": joined} {
			if content, _ := m["content"].(string); strings.TrimSpace(content) != "" {
				t.Fatalf("%d tokens, %s: content %q", n+1, way, content)
			}
		}
	}
}

// The text of a custom tool is there as far as it came.
func TestCutInACustomTool(t *testing.T) {
	d := dialogues["hermes"]
	d.called = "<tool_call>\n{\"name\": \"c\", \"arguments\": {\"input\": \"one\\ntwo \\ud83d\\ude00!\"}}\n</tool_call>"
	s := startDialogue(t, d)
	body := object{"messages": list{question}, "tools": list{object{"type": "custom", "custom": object{"name": "c"}}}}
	want(t, post(t, s, "/v1/chat/completions", body), "one\ntwo 😀!", "choices", 0, "message", "tool_calls", 0, "custom", "input")
	last := ""
	for n := range 80 {
		got := post(t, s, "/v1/chat/completions", merge(body, object{"max_tokens": n + 1}))
		calls, _ := at(t, got, "choices", 0, "message").(object)["tool_calls"].([]any)
		if len(calls) == 0 {
			continue
		}
		input := at(t, calls[0].(object), "custom", "input").(string)
		if !strings.HasPrefix("one\ntwo 😀!", input) || len(input) < len(last) {
			t.Errorf("%d tokens: %q after %q", n+1, input, last)
		}
		last = input
	}
	if last != "one\ntwo 😀!" {
		t.Errorf("the last one is %q", last)
	}
}

// Clients send messages back with calls that are null or an empty list. Templates of the
// Llama 3 family ask only whether there are any.
func TestMessagesWithoutCalls(t *testing.T) {
	const asks = `{% for m in messages %}{% if "tool_calls" in m or "function_call" in m %}{{ raise_exception("calls") }}{% endif %}{{ m.content }}{% endfor %}`
	s := startDialogue(t, dialogue{template: asks})
	for _, none := range []object{{"tool_calls": nil, "function_call": nil}, {"tool_calls": list{}}} {
		post(t, s, "/v1/chat/completions", object{"max_tokens": 1, "messages": list{question, merge(object{"role": "assistant", "content": "Rain."}, none), question}})
	}
}
