package httpapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// hello is a conversation, and helloText what the template makes of it.
var hello = list{object{"role": "user", "content": "Tell me a story."}}

const helloText = "<|bos|><|user|>Tell me a story.<|end|><|assistant|>"

func helloIDs() []int32 { return plainIDs(helloText) }

func TestChat(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	got := post(t, s, "/v1/chat/completions", object{"model": testserver.ModelID, "messages": hello, "max_tokens": 20, "seed": 5})
	text, ids := s.Expected(helloIDs(), params(s, 20, 5))
	want(t, got, text, "choices", 0, "message", "content")
	want(t, got, "assistant", "choices", 0, "message", "role")
	want(t, got, "length", "choices", 0, "finish_reason")
	want(t, got, 0, "choices", 0, "index")
	want(t, got, nil, "choices", 0, "logprobs")
	want(t, got, "chat.completion", "object")
	want(t, got, testserver.ModelID, "model")
	want(t, got, testserver.Fingerprint, "system_fingerprint")
	want(t, got, 1700000123, "created")
	want(t, got, object{"prompt_tokens": len(helloIDs()), "completion_tokens": len(ids), "total_tokens": len(helloIDs()) + len(ids),
		"prompt_tokens_details": object{"cached_tokens": 0}}, "usage")
	if id, _ := got["id"].(string); !strings.HasPrefix(id, "chatcmpl-") {
		t.Errorf("id is %q", id)
	}

	again := post(t, s, "/v1/chat/completions", object{"messages": hello, "max_tokens": 20, "seed": 5})
	want(t, again, text, "choices", 0, "message", "content")
	cached := at(t, again, "usage", "prompt_tokens_details", "cached_tokens").(float64)
	if n := len(helloIDs()) - 1; int(cached) != n/4*4 {
		t.Errorf("%v tokens are cached, want whole pages of 4 below %d", cached, n)
	}
	s.WaitIdle(t)
}

// The role comes first, then content, the reason to finish, usage, the end.
func TestChatStream(t *testing.T) {
	s := testserver.Start(t, testserver.Options{EOSChance: .02})
	for seed := range 10 {
		got := chunks(t, s, "/v1/chat/completions", object{"messages": hello, "seed": seed, "max_tokens": 40, "stream": true,
			"stream_options": object{"include_usage": true}})
		text, ids := s.Expected(helloIDs(), params(s, 40, uint64(seed)))
		want(t, got[0], object{"role": "assistant", "content": ""}, "choices", 0, "delta")
		want(t, got[0], nil, "choices", 0, "finish_reason")
		var content strings.Builder
		for i, chunk := range got {
			want(t, chunk, "chat.completion.chunk", "object")
			want(t, chunk, got[0]["id"], "id")
			if i < len(got)-1 {
				if usage, there := chunk["usage"]; usage != nil || !there {
					t.Errorf("chunk %d has the usage %v, want null", i, usage)
				}
			}
			if i > 0 && i < len(got)-2 {
				content.WriteString(at(t, chunk, "choices", 0, "delta", "content").(string))
				want(t, chunk, nil, "choices", 0, "finish_reason")
			}
		}
		end, usage := got[len(got)-2], got[len(got)-1]
		want(t, end, object{}, "choices", 0, "delta")
		reason := "length"
		if ids[len(ids)-1] == s.Model.EOS[0] {
			reason = "stop"
		}
		want(t, end, reason, "choices", 0, "finish_reason")
		want(t, usage, list{}, "choices")
		want(t, usage, len(ids), "usage", "completion_tokens")
		if content.String() != text {
			t.Errorf("seed %d: the stream says %q, want %q", seed, content.String(), text)
		}
	}
}

func TestChatStreamWithoutUsage(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	got := chunks(t, s, "/v1/chat/completions", object{"messages": hello, "max_tokens": 5, "stream": true})
	for _, chunk := range got {
		if _, there := chunk["usage"]; there {
			t.Errorf("usage was not requested: %v", chunk)
		}
	}
	if reason := at(t, got[len(got)-1], "choices", 0, "finish_reason"); reason != "length" {
		t.Errorf("the last chunk has the reason %v", reason)
	}
}

// Choices differ only by their index, and the first one equals a single choice.
func TestChatChoices(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := object{"messages": hello, "max_tokens": 12, "seed": 9, "n": 3}
	got := post(t, s, "/v1/chat/completions", body)
	stream := make([]string, 3)
	for _, chunk := range chunks(t, s, "/v1/chat/completions", with(body, object{"stream": true})) {
		if text, ok := at(t, chunk, "choices", 0, "delta", "content").(string); ok {
			stream[int(at(t, chunk, "choices", 0, "index").(float64))] += text
		}
	}
	for i := range 3 {
		p := params(s, 12, 9)
		p.Choice = uint32(i)
		text, _ := s.Expected(helloIDs(), p)
		want(t, got, i, "choices", i, "index")
		want(t, got, text, "choices", i, "message", "content")
		if stream[i] != text {
			t.Errorf("choice %d streams %q, want %q", i, stream[i], text)
		}
	}
	want(t, got, len(helloIDs()), "usage", "prompt_tokens")
	want(t, got, 36, "usage", "completion_tokens")
	s.WaitIdle(t)
}

func TestChatMessages(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for name, c := range map[string]struct {
		messages list
		more     object
		prompt   string
	}{
		"system":    {list{object{"role": "system", "content": "Be brief."}, hello[0]}, nil, "<|bos|><|system|>Be brief.<|end|><|user|>Tell me a story.<|end|><|assistant|>"},
		"developer": {list{object{"role": "developer", "content": "Be brief."}, hello[0]}, nil, "<|bos|><|system|>Be brief.<|end|><|user|>Tell me a story.<|end|><|assistant|>"},
		"parts":     {list{object{"role": "user", "content": list{object{"type": "text", "text": "Tell me"}, object{"type": "text", "text": " a story."}}}}, nil, helloText},
		"assistant": {list{hello[0], object{"role": "assistant", "content": "No."}, object{"role": "user", "content": "Why?"}}, nil, "<|bos|><|user|>Tell me a story.<|end|><|assistant|>No.<|end|><|user|>Why?<|end|><|assistant|>"},
		"no turn":   {hello, object{"add_generation_prompt": false}, "<|bos|><|user|>Tell me a story.<|end|>"},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(t, s, "/v1/chat/completions", with(object{"messages": c.messages, "max_tokens": 8, "seed": 1}, c.more))
			text, _ := s.Expected(plainIDs(c.prompt), params(s, 8, 1))
			want(t, got, text, "choices", 0, "message", "content")
			want(t, got, len(plainIDs(c.prompt)), "usage", "prompt_tokens")
		})
	}
}

func TestChatWithABrokenTemplate(t *testing.T) {
	s := testserver.Start(t, testserver.Options{NoTemplate: true, TemplateFault: errors.New("chat template: m.gguf line 3: no end; give another one")})
	a := send(t, s, "POST", "/v1/chat/completions", object{"messages": hello})
	if e := errorOf(t, a); a.status != 400 || !strings.Contains(e["message"].(string), "cannot be used: chat template: m.gguf line 3: no end; give another one; use /v1/completions") {
		t.Errorf("%d: %v", a.status, e)
	}
	if a := send(t, s, "POST", "/v1/completions", object{"prompt": "hi", "max_tokens": 2}); a.status != 200 {
		t.Errorf("a completion: %d %s", a.status, a.body)
	}
}

func TestChatWithoutTemplate(t *testing.T) {
	s := testserver.Start(t, testserver.Options{NoTemplate: true})
	a := send(t, s, "POST", "/v1/chat/completions", object{"messages": hello})
	if e := errorOf(t, a); a.status != 400 || !strings.Contains(e["message"].(string), "start the server with chat-template") {
		t.Errorf("%d: %v", a.status, e)
	}
}

func TestChatLogprobs(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	tok := s.Model.Tokenizer
	body := object{"messages": hello, "max_tokens": 25, "seed": 2, "logprobs": true, "top_logprobs": 3}
	got := post(t, s, "/v1/chat/completions", body)
	_, out := s.Expected(helloIDs(), params(s, 25, 2))
	content := at(t, got, "choices", 0, "logprobs", "content").(list)
	if len(content) != len(out) {
		t.Fatalf("%d entries for %d tokens", len(content), len(out))
	}
	var bytes []byte
	sequence := helloIDs()
	for i, id := range out {
		sequence = append(sequence, id)
		lp := fakemodel.ExpectedLogprobs(s.FakeModel, sequence, 3)
		want(t, content, lp.Chosen.Logprob, i, "logprob")
		top := at(t, content, i, "top_logprobs").(list)
		if len(top) != 3 {
			t.Fatalf("%d likeliest tokens, want 3", len(top))
		}
		for j, entry := range lp.Top {
			want(t, top, entry.Logprob, j, "logprob")
			want(t, top, strings.ToValidUTF8(string(tok.TokenBytes(entry.Token)), "\uFFFD"), j, "token")
		}
		for _, b := range at(t, content, i, "bytes").(list) {
			if !tok.IsSpecial(id) {
				bytes = append(bytes, byte(b.(float64)))
			}
		}
	}
	text := at(t, got, "choices", 0, "message", "content").(string)
	if lossy := tok.Decode(out, tokenizer.DecodeOptions{SkipSpecial: true}); lossy != text {
		t.Fatalf("text %q, want %q", text, lossy)
	}
	if utf8.Valid(bytes) && string(bytes) != text {
		t.Errorf("the tokens' bytes are %q, the text is %q", bytes, text)
	}
	var streamed list
	for _, chunk := range chunks(t, s, "/v1/chat/completions", with(body, object{"stream": true})) {
		if lp, ok := at(t, chunk, "choices", 0, "logprobs").(object); ok {
			streamed = append(streamed, lp["content"].(list)...)
		}
	}
	if fmt.Sprint(streamed) != fmt.Sprint(content) {
		t.Errorf("the stream's log probabilities differ from the answer's")
	}
	plain := post(t, s, "/v1/chat/completions", with(body, object{"top_logprobs": nil}))
	want(t, plain, list{}, "choices", 0, "logprobs", "content", 0, "top_logprobs")
}
