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

// Clients send messages back with calls that are null or an empty list. Templates of the
// Llama 3 family ask only whether there are any.
func TestMessagesWithoutCalls(t *testing.T) {
	const asks = `{% for m in messages %}{% if "tool_calls" in m or "function_call" in m %}{{ raise_exception("calls") }}{% endif %}{{ m.content }}{% endfor %}`
	s := startDialogue(t, dialogue{template: asks})
	for _, none := range []object{{"tool_calls": nil, "function_call": nil}, {"tool_calls": list{}}} {
		post(t, s, "/v1/chat/completions", object{"max_tokens": 1, "messages": list{question, merge(object{"role": "assistant", "content": "Rain."}, none), question}})
	}
}
