package output

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func TestFormatsAreReadFromJSON(t *testing.T) {
	for _, f := range append(Formats(), Format{Name: "content"}, Format{Name: "x", Reasoning: think, History: History{ArgumentsText: true, NullContent: true, Reasoning: "reasoning"}}) {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var back Format
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(f, back) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", f.Name, err, back, f)
		}
	}
	for _, text := range []string{`{"id":"x"}`, `{"calls":{"call":{"arguments":"yaml"}}}`} {
		if err := json.Unmarshal([]byte(text), new(Format)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestHeaderName(t *testing.T) {
	for _, c := range []struct{ format, header, want string }{
		{"kimi-k2", "functions.f:0<|tool_call_argument_begin|>", "f"},
		{"kimi-k2", "f:0<|tool_call_argument_begin|>", "f"},
		{"deepseek-v3", "function<｜tool▁sep｜>f\n```json\n", "f"},
		{"functionary-v3.2", "f\n{", "f"},
		{"functionary-v3.2", "all\n{", ""},
		{"hermes", "f", ""},
		{"qwen3-coder", "a b>", ""},
		{"harmony", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "f"},
		{"harmony", "<|channel|>commentary to=python<|message|>", ""},
	} {
		i := slices.IndexFunc(catalogue, func(f Format) bool { return f.Name == c.format })
		if got := catalogue[i].HeaderName(c.header); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.format, c.header, got, c.want)
		}
	}
}

func TestTypesOfParameters(t *testing.T) {
	types := Tool{Parameters: json.RawMessage(`{"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]}}}`)}.Types()
	if a, b, c := types("a"), types("b"), types("c"); !slices.Equal(a, []string{"string"}) || !slices.Equal(b, []string{"number", "null"}) || len(c) != 6 {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}
