package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func startDialogue(t *testing.T, d dialogue) *testserver.Server {
	return testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: d.template, Script: d.says})
}

// In every format a question with tools is answered by calls, whole and streamed alike. The
// next turn, with their results, finds prompt and output of the first one in the cache.
func TestToolDialogues(t *testing.T) {
	for format, d := range dialogues {
		t.Run(format, func(t *testing.T) {
			s := startDialogue(t, d)
			if s.Model.Format.Name != format {
				t.Fatalf("the template has the format %s", s.Model.Format.Name)
			}
			body := object{"messages": list{question}, "tools": weatherTools, "max_tokens": 400}
			got := post(t, s, "/v1/chat/completions", body)
			message := at(t, got, "choices", 0, "message").(object)
			want(t, got, "tool_calls", "choices", 0, "finish_reason")
			checkCalls(t, message, d)
			joined := joinDeltas(t, chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true})), "tool_calls")
			checkCalls(t, joined, d)

			results := list{question, message}
			for i, call := range message["tool_calls"].([]any) {
				results = append(results, object{"role": "tool", "tool_call_id": call.(object)["id"], "content": fmt.Sprint("answer ", i)})
			}
			second := post(t, s, "/v1/chat/completions", merge(body, object{"messages": results}))
			want(t, second, "It rains.", "choices", 0, "message", "content")
			want(t, second, "stop", "choices", 0, "finish_reason")
			// All but the end token, which is never computed, are there.
			known := int(at(t, got, "usage", "prompt_tokens").(float64)+at(t, got, "usage", "completion_tokens").(float64)) - 1
			cached := int(at(t, second, "usage", "prompt_tokens_details", "cached_tokens").(float64))
			if cached != known/4*4 {
				t.Errorf("%d tokens are cached, want the whole pages of %d", cached, known)
			}
		})
	}
}

// checkCalls checks the message with calls of a dialogue.
func checkCalls(t *testing.T, message object, d dialogue) {
	t.Helper()
	content, _ := message["content"].(string)
	reasoning, _ := message["reasoning_content"].(string)
	calls, _ := message["tool_calls"].([]any)
	if content != d.content || reasoning != d.reasoning || len(calls) != 2 {
		t.Fatalf("content %q, thoughts %q, %d calls; want %q, %q and 2", content, reasoning, len(calls), d.content, d.reasoning)
	}
	for i, w := range []struct{ name, arguments string }{{"weather", `{"city": "Oslo", "days": 3}`}, {"time", "{}"}} {
		want(t, calls[i].(object), w.name, "function", "name")
		want(t, calls[i].(object), w.arguments, "function", "arguments")
		want(t, calls[i].(object), "function", "type")
		if id, _ := calls[i].(object)["id"].(string); id == "" {
			t.Errorf("call %d has no id", i)
		}
	}
}

// joinDeltas makes the message of a stream's chunks, and checks what every chunk has.
func joinDeltas(t *testing.T, chunks []object, finish string) object {
	t.Helper()
	content, reasoning, ended := "", "", ""
	var calls list
	for _, c := range chunks {
		if len(c["choices"].([]any)) == 0 {
			continue
		}
		delta := at(t, c, "choices", 0, "delta").(object)
		if text, ok := delta["content"].(string); ok {
			content += text
		}
		if text, ok := delta["reasoning_content"].(string); ok {
			reasoning += text
		}
		pieces, _ := delta["tool_calls"].([]any)
		for _, p := range pieces {
			piece := p.(object)
			index := int(piece["index"].(float64))
			function := piece["function"].(object)
			if index == len(calls) {
				calls = append(calls, object{"id": piece["id"], "type": piece["type"], "function": object{"name": function["name"], "arguments": ""}})
			} else if index != len(calls)-1 || piece["id"] != nil || function["name"] != nil {
				t.Errorf("a piece of call %d after %d calls: %v", index, len(calls), piece)
			}
			of := calls[index].(object)["function"].(object)
			of["arguments"] = of["arguments"].(string) + function["arguments"].(string)
		}
		if reason, ok := at(t, c, "choices", 0, "finish_reason").(string); ok {
			ended = reason
		}
	}
	if ended != finish {
		t.Errorf("the stream ended with %q, want %q", ended, finish)
	}
	return object{"content": content, "reasoning_content": reasoning, "tool_calls": calls}
}
