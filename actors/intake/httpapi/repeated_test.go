package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRepeatedKeysAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"n": 1}`:         "",
		`{"n": 1, "n": 1}`: "n",
		"\n{ \"text\" : \"a,:{[\" ,\n \"text\":\"b\"}": "text",
		`{"n": 1, "N": 2}`:                         "N",
		`{"\u006e": 1, "n": 2}`:                    "n",
		`{"sampling_params": {"n": 1, "n": 2}}`:    "sampling_params.n",
		`{"sampling_params": {"n": 1}, "n": 2}`:    "",
		`{"logit_bias": {"7": 1, "8": 1, "7": 2}}`: "logit_bias.7",
		`{"messages": [{"role": "user"}, {"role": "user", "content": "x", "role": "system"}]}`:        "messages[1].role",
		`{"messages": [{"content": [{"type": "text", "text": "a"}, {"type": "text", "type": "x"}]}]}`: "messages[0].content[1].type",
		`{"chat_template_kwargs": {"a": {"b": [[{"c": 1, "c": 1}]]}}}`:                                "chat_template_kwargs.a.b[0][0].c",
		`{"chat_template_kwargs": {"a": 1, "A": 1}}`:                                                  "",
		`{"text": ["{\"a\":1,\"a\":1}", "a", "a"]}`:                                                   "",
		`{"input_ids": [[1, 1], [1]], "x": 1e999, "x": 2}`:                                            "x",
		`{}`: "",
	} {
		err := repeated([]byte(body))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case want != "" && (err == nil || err.Status != 400 || err.Param != want || err.Code != "repeated_parameter"):
			t.Errorf("%s: %+v, want %s", body, err, want)
		case want != "":
			at := strings.LastIndex(body, `"`+want[strings.LastIndexAny(want, ".]")+1:]+`"`)
			if end := at + strings.Index(body[at+1:], `"`) + 2; !strings.Contains(err.Message, fmt.Sprintf("byte %d;", end)) {
				t.Errorf("%s: %s, want byte %d", body, err.Message, end)
			}
		}
	}
}

// An object of more keys than are compared one by one.
func TestRepeatedAmongManyKeys(t *testing.T) {
	for _, n := range []int{fewKeys - 1, fewKeys, fewKeys + 1, 10 * fewKeys} {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf(`"%d": 0`, i))
		}
		object := func(keys []string) []byte { return []byte(`{"logit_bias": {` + strings.Join(keys, ",") + `}}`) }
		if err := repeated(object(keys)); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			if err := repeated(object(append(keys, keys[i]))); err == nil || err.Param != fmt.Sprintf("logit_bias.%d", i) {
				t.Errorf("key %d of %d twice: %v", i, n, err)
			}
		}
	}
}

// Not only /generate: whatever decodes a body refuses them.
func TestDecodingRefusesRepeatedKeys(t *testing.T) {
	if err := unmarshal([]byte(`{"stream": true, "stream": false}`), &chatRequest{}); err == nil || err.Param != "stream" {
		t.Errorf("%v", err)
	}
	if err := unmarshal([]byte(`{"stream": true, "steam": 1, "stream": false}`), &chatRequest{}); err == nil || err.Code != codeUnknown {
		t.Errorf("%v, want what decoding says", err)
	}
	_, err := (&generateRequest{SamplingParams: json.RawMessage(`{"n": 1, "N": 2}`)}).sampling()
	if err == nil || err.Param != "sampling_params.N" {
		t.Errorf("%+v", err)
	}
}

// tree is a JSON value for the property below.
type tree struct {
	kind   byte // one of {["0
	keys   []string
	values []tree
}

func drawTree(t *rapid.T, depth int) tree {
	kinds := `"0`
	if depth > 0 {
		kinds = `{["0`
	}
	v := tree{kind: kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]}
	if v.kind == '{' || v.kind == '[' {
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			v.keys = append(v.keys, rapid.SampledFrom([]string{"a", "b", "c", "d", "A", "é", `q"`}).Draw(t, "key"))
			v.values = append(v.values, drawTree(t, depth-1))
		}
	}
	return v
}

// write renders a tree with the white space that is drawn.
func (v tree) write(t *rapid.T, b *strings.Builder) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")) }
	space()
	switch v.kind {
	case '"':
		b.WriteString(`"{\"a\":[,:]}"`)
	case '0':
		b.WriteString("-1e999")
	default:
		b.WriteByte(v.kind)
		for i := range v.values {
			if i > 0 {
				b.WriteByte(',')
			}
			if v.kind == '{' {
				space()
				key, _ := json.Marshal(v.keys[i])
				b.Write(key)
				space()
				b.WriteByte(':')
			}
			v.values[i].write(t, b)
		}
		space()
		b.WriteByte(v.kind + 2) // } and ] are two after { and [
	}
	space()
}

// twice is the obvious search, on the tree: the path of the first repeated key.
func (v tree) twice(path string, top bool) string {
	if v.kind == '[' && len(v.values) > 0 && v.values[0].kind != '{' && v.values[0].kind != '[' {
		return ""
	}
	for i, inner := range v.values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if v.kind == '{' {
			if at = path + "." + v.keys[i]; top {
				at = v.keys[i]
			}
			if slices.ContainsFunc(v.keys[:i], func(k string) bool { return k == v.keys[i] || top && strings.EqualFold(k, v.keys[i]) }) {
				return at
			}
		}
		if found := inner.twice(at, false); found != "" {
			return found
		}
	}
	return ""
}

func TestRepeatedKeysAgainstTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawTree(t, 4)
		v.kind = '{'
		var b strings.Builder
		v.write(t, &b)
		if !json.Valid([]byte(b.String())) {
			t.Fatalf("not JSON: %s", b.String())
		}
		found := ""
		if err := repeated([]byte(b.String())); err != nil {
			found = err.Param
		}
		if want := v.twice("", true); found != want {
			t.Fatalf("%s: found %q, want %q", b.String(), found, want)
		}
	})
}
