package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func TestTokenize(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	ids := encode(onceUpon)
	for _, key := range []string{"prompt", "text"} {
		want(t, post(t, s, "/tokenize", object{key: onceUpon}), object{"tokens": ids, "count": len(ids), "max_model_len": 512})
	}
	want(t, post(t, s, "/v1/tokenize", object{"prompt": list{onceUpon, "x"}}), list{ids, encode("x")}, "tokens")
	want(t, post(t, s, "/tokenize", object{"prompt": list{onceUpon, "x"}}), list{len(ids), len(encode("x"))}, "count")
	want(t, post(t, s, "/tokenize", object{"prompt": onceUpon, "add_special_tokens": false}), plainIDs(onceUpon), "tokens")
	want(t, post(t, s, "/tokenize", object{"prompt": "", "add_special_tokens": false}), list{}, "tokens")

	want(t, post(t, s, "/detokenize", object{"tokens": ids}), object{"text": onceUpon, "prompt": onceUpon})
	want(t, post(t, s, "/v1/detokenize", object{"tokens": list{ids, list{}}}), list{onceUpon, ""}, "text")
	want(t, post(t, s, "/detokenize", object{"tokens": list{}}), "", "text")
	special := encode("<|user|>hi")
	want(t, post(t, s, "/detokenize", object{"tokens": special}), "hi", "text")
	if text := post(t, s, "/detokenize", object{"tokens": special, "skip_special_tokens": false})["text"].(string); !strings.HasSuffix(text, "<|user|>hi") {
		t.Errorf("special tokens are missing in %q", text)
	}
}

// The answers without reflection equal those of encoding/json.
func TestTokenizeAnswers(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for body, lists := range map[string]int{`{"text": "Once upon"}`: -1, `{"text": []}`: 0, `{"text": [""]}`: 1, `{"prompt": ["Once", "upon a time"]}`: 2} {
		a := send(t, s, "POST", "/tokenize", body)
		var got struct {
			Tokens, Count any
			Context       int `json:"max_model_len"`
		}
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != http.StatusOK || got.Context != s.Context {
			t.Fatalf("%s: %d %v %s", body, a.status, err, a.body)
		}
		tokens, counts := got.Tokens.([]any), got.Count
		if lists < 0 {
			tokens, counts = []any{tokens}, []any{counts}
		} else if len(tokens) != lists {
			t.Fatalf("%s: %s", body, a.body)
		}
		for i, ids := range tokens {
			if n := counts.([]any)[i].(float64); int(n) != len(ids.([]any)) {
				t.Errorf("%s: %v ids, count %v", body, ids, n)
			}
		}
	}
}
