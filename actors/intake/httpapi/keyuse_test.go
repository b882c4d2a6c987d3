package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// What each key uses is counted under its name; choices share their prompt.
func TestUseIsCountedByKey(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{Keys: []httpapi.Key{holder("k-ann", false), holder("k-bob", true)}}})
	body := object{"prompt": []int{5, 6, 7}, "max_tokens": 4, "ignore_eos": true, "n": 2}
	for _, stream := range []bool{false, true} {
		body["stream"] = stream
		if a := send(t, s, "POST", "/v1/completions", body, "Authorization", "Bearer k-ann"); a.status != http.StatusOK {
			t.Fatalf("%d: %s", a.status, a.body)
		}
	}
	if a := send(t, s, "POST", "/v1/completions", merge(body, object{"prompt": ""}), "Authorization", "Bearer k-bob"); a.status != http.StatusBadRequest {
		t.Fatalf("%d: %s", a.status, a.body)
	}
	text := string(send(t, s, "GET", "/metrics", nil, "Authorization", "Bearer k-bob").body)
	for _, want := range []string{`troupe_key_requests_total{key="name-of-ann"} 4`, `troupe_key_prompt_tokens_total{key="name-of-ann"} 6`, `troupe_key_generation_tokens_total{key="name-of-ann"} 16`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "name-of-bob") {
		t.Error("a refused request counts")
	}
	if !strings.Contains(s.Logs(), `"key":"name-of-ann"`) {
		t.Error("the access log does not name the key")
	}
	// The counters of a key that is removed are forgotten.
	s.HTTP.Configure(httpapi.Options{Keys: []httpapi.Key{holder("k-bob", true)}})
	if text := string(send(t, s, "GET", "/metrics", nil, "Authorization", "Bearer k-bob").body); strings.Contains(text, "name-of-ann") {
		t.Error("a removed key has counters")
	}
}
