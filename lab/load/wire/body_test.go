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
		{base, Body{IDs: []int32{1, 22}, MaxTokens: 5}, `{"prompt":[1,22],"model":"m","temperature":0,"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true,"max_tokens":5}`},
		{FrameOptions{}, Body{Text: "a\"\n\x01é", Stop: []string{"\n"}}, `{"prompt":"a\"\n\u0001é","temperature":0,"stream":false,"stop":["\n"]}`},
		{FrameOptions{Usage: true}, Body{Messages: []Message{{"user", "hi"}, {"assistant", "yes"}}, MaxTokens: 1},
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}],"temperature":0,"stream":false,"max_tokens":1}`},
		{extra, Body{Text: "a", MaxTokens: 5}, `{"prompt":"a","max_completion_tokens":9,"temperature":0.5,"top_k":3,"model":"m","stream":true,"ignore_eos":true}`},
		{FrameOptions{Extra: json.RawMessage(`{"prompt":"mine"}`)}, Body{Text: "a"}, `{"prompt":"mine","temperature":0,"stream":false}`},
	} {
		f, err := NewFrame(c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Append(nil, &c.body)); got != c.want {
			t.Errorf("got\n%s, want\n%s", got, c.want)
		}
	}
	for _, bad := range []string{`[1]`, `null`, `{"a":`, `7`} {
		if _, err := NewFrame(FrameOptions{Extra: json.RawMessage(bad)}); err == nil || !strings.Contains(err.Error(), "want a JSON object") {
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
		if err := json.Unmarshal(f.Append(nil, &Body{Text: text}), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(text, "\uFFFD"); got.Prompt != want || got.Model != "a\"b" {
			t.Fatalf("%q came as %q", text, got.Prompt)
		}
	})
}
