package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestChunk(t *testing.T) {
	type want struct {
		text, reasoning, finish, err string
		usage                        Usage
		choice, hasUsage, tool, bad  bool
	}
	for _, c := range []struct {
		name, data string
		want
	}{
		{"completion", `{"choices":[{"index":0,"text":" a","finish_reason":null}],"usage":null}`, want{text: " a", choice: true}},
		{"chat", `{"choices":[{"delta":{"role":"assistant","content":"a\n\u00e9\ud83d\ude00\"\/"}}]}`, want{text: "a\né😀\"/", choice: true}},
		{"role only", `{"choices":[{"delta":{"role":"assistant","content":null}}]}`, want{choice: true}},
		{"thoughts", `{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, want{reasoning: "hm", choice: true}},
		{"tool", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, want{choice: true, tool: true}},
		{"no tool", `{"choices":[{"delta":{"content":"a","tool_calls":[ ]}}]}`, want{text: "a", choice: true}},
		{"end", `{"choices":[{"delta":{},"finish_reason":"length"}]}`, want{finish: "length", choice: true}},
		{"usage", `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5.0,"prompt_tokens_details":{"audio":1,"cached_tokens":4}}}`,
			want{hasUsage: true, usage: Usage{7, 5, 4}}},
		{"usage without details", `{"usage":{"prompt_tokens":7,"completion_tokens":null,"prompt_tokens_details":null},"choices":null}`, want{hasUsage: true, usage: Usage{Prompt: 7}}},
		{"whole answer", `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`,
			want{text: "hi", finish: "stop", choice: true, hasUsage: true, usage: Usage{Completion: 1}}},
		{"error", `{"error":{"code":500,"message":"out of memory","type":"server_error"}}`, want{err: "out of memory"}},
		{"error as text", `{"error":"no"}`, want{err: "no"}},
		{"no error", `{"error":null,"choices":[{"text":"a"}]}`, want{text: "a", choice: true}},
		{"older error", `{"message":"too long","object":"error","code":400}`, want{err: "too long"}},
		{"second choice", `{"choices":[{"text":"a"},{"text":"b","finish_reason":"stop"}]}`, want{text: "a", choice: true}},
		{"lone surrogates", `{"choices":[{"text":"\ud83d\ud83d\ude00\udc00x"}]}`, want{text: "\ufffd😀\ufffdx", choice: true}},
		{"escaped key", `{"ch\u006fices":[{"te\u0078t":"a"}]}`, want{text: "a", choice: true}},
		{"cut", `{"choices":[{"text":"a"`, want{bad: true}},
		{"text behind", `{} x`, want{bad: true}},
		{"no object", `[1]`, want{bad: true}},
		{"nothing", ``, want{bad: true}},
		{"control character", "{\"choices\":[{\"text\":\"a\x01\"}]}", want{bad: true}},
		{"negative count", `{"usage":{"prompt_tokens":-1}}`, want{bad: true}},
		{"deep", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), want{bad: true}},
	} {
		k := Chunk{Text: []byte("of before"), HasError: true, HasUsage: true, Finish: []byte("stop")}
		err := k.Read([]byte(c.data))
		if c.bad {
			if !errors.Is(err, ErrChunk) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		got := want{string(k.Text), string(k.Reasoning), string(k.Finish), string(k.Error), k.Usage, k.HasChoice, k.HasUsage, k.ToolCall, false}
		if err != nil || got != c.want || k.HasError != (c.err != "") {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

// slowChunk reads with encoding/json. ok is false if data is not an object; sure is
// false if it has one thing under two names.
func slowChunk(data []byte) (text string, finish string, ok, sure bool) {
	var all map[string]any
	if json.Unmarshal(data, &all) != nil || all == nil {
		return "", "", false, true
	}
	choices, _ := all["choices"].([]any)
	for _, one := range choices {
		choice, is := one.(map[string]any)
		if !is {
			continue
		}
		finish, _ = choice["finish_reason"].(string)
		text, _ = choice["text"].(string)
		_, a := choice["text"]
		message, b := choice["delta"].(map[string]any)
		other, c := choice["message"].(map[string]any)
		if b || c {
			if c {
				message = other
			}
			text, _ = message["content"].(string)
		}
		return text, finish, true, !(a && b || a && c || b && c)
	}
	return "", "", true, true
}

// twice reports whether an object has a member twice, at any depth.
func twice(data []byte) bool {
	d := json.NewDecoder(strings.NewReader(string(data)))
	var walk func() bool
	walk = func() bool {
		t, err := d.Token()
		if err != nil {
			return true
		}
		seen := map[string]bool{}
		switch t {
		case json.Delim('{'):
			for d.More() {
				key, err := d.Token()
				name, _ := key.(string)
				if err != nil || seen[name] || walk() {
					return true
				}
				seen[name] = true
			}
			d.Token()
		case json.Delim('['):
			for d.More() {
				if walk() {
					return true
				}
			}
			d.Token()
		}
		return false
	}
	return walk()
}

// FuzzChunk compares with encoding/json: both read the same text, and both refuse what
// is not a JSON object.
func FuzzChunk(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"delta":{"content":"a\u00e9\ud83d\ude00"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1.5e1}}`,
		`{"error":{"message":"x"},"choices":[1,null,{"text":"b"}]}`, `{"object":"error","message":"m"}`, `{"a":[1,-2.5E+3,true,false,null,{"b":""}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var k Chunk
		err := k.Read(data)
		text, finish, ok, sure := slowChunk(data)
		switch {
		case err == nil && !ok:
			t.Fatalf("%q is read, and is no JSON object", data)
		case err != nil || !sure || !utf8.Valid(data) || twice(data):
		case string(k.Text) != text || string(k.Finish) != finish:
			t.Fatalf("%q gives %q, %q, want %q, %q", data, k.Text, k.Finish, text, finish)
		}
	})
}
