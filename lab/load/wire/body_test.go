package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBody(t *testing.T) {
	base := FrameOptions{Model: "m", Stream: true, Usage: true, IgnoreEOS: true}
	extra := base
	extra.Extra = json.RawMessage(`{"stream_options":null,"temperature":0.5,"top_k":3,"max_tokens":null,"max_completion_tokens":9}`)
	for _, c := range []struct {
		opt  FrameOptions
		body Body
		want string
	}{
		{base, Body{IDs: []int32{1, 22}, MaxTokens: 5}, `{"ignore_eos":true,"max_tokens":5,"model":"m","prompt":[1,22],"stream":true,"stream_options":{"include_usage":true},"temperature":0}`},
		{FrameOptions{}, Body{Text: "a\"\n\x01é", Stop: []string{"\n"}}, `{"prompt":"a\"\n\u0001é","stop":["\n"],"stream":false,"temperature":0}`},
		{FrameOptions{Usage: true}, Body{Messages: []Message{{"user", "hi"}, {"assistant", "yes"}}, MaxTokens: 1},
			`{"max_tokens":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}],"stream":false,"temperature":0}`},
		{extra, Body{Text: "a", MaxTokens: 5}, `{"ignore_eos":true,"max_completion_tokens":9,"model":"m","prompt":"a","stream":true,"temperature":0.5,"top_k":3}`},
		{FrameOptions{Extra: json.RawMessage(`{"prompt":"mine"}`)}, Body{Text: "a"}, `{"prompt":"mine","stream":false,"temperature":0}`},
	} {
		f, err := NewFrame(c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Write(&c.body)); got != c.want {
			t.Errorf("got\n%s, want\n%s", got, c.want)
		}
	}
	for _, bad := range []string{`[1]`, `null`, `{"a":`, `7`} {
		if _, err := NewFrame(FrameOptions{Extra: json.RawMessage(bad)}); err == nil || !strings.Contains(err.Error(), "is not a JSON object") {
			t.Errorf("%s gives %v", bad, err)
		}
	}
}

func TestBodiesAreJSON(t *testing.T) {
	f, err := NewFrame(FrameOptions{Model: "a\"b", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		var got struct{ Prompt, Model string }
		if err := json.Unmarshal(f.Write(&Body{Text: text}), &got); err != nil {
			t.Fatal(err)
		}
		if want := string([]rune(text)); got.Prompt != want || got.Model != "a\"b" {
			t.Fatalf("%q came as %q", text, got.Prompt)
		}
	})
}
