package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func TestCacheTree(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	if text := string(send(t, s, "GET", "/debug/cache?format=text", nil).body); strings.Contains(text, "uuid") {
		t.Errorf("an empty cache is drawn as %s", text)
	}
	ids := encode(onceUpon)
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 1, "seed": 1})
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 1, "seed": 1, "cache_salt": "tenant secret"})
	s.WaitIdle(t)
	tree := send(t, s, "GET", "/debug/cache?tokens=256", nil).object(t)
	want(t, tree, 2, "nodes")
	want(t, tree, 4, "page_size")
	want(t, tree, ids[:len(ids)/4*4], "namespaces", 0, "children", 0, "tokens")
	want(t, tree, 0, "namespaces", 0, "children", 0, "locks")
	if text := string(send(t, s, "GET", "/debug/cache", nil).body); strings.Contains(text, "secret") {
		t.Errorf("a salt is shown: %s", text)
	}
	a := send(t, s, "GET", "/debug/cache?format=text&tokens=2&nodes=1", nil)
	for _, part := range []string{"Root Node:", "ref=0", "age=", "[L]", "and 1 more nodes"} {
		if !strings.Contains(string(a.body), part) {
			t.Errorf("the drawing lacks %q:\n%s", part, a.body)
		}
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("the drawing is %s", a.header.Get("Content-Type"))
	}
}

func TestCacheTreeIsBounded(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for query, param := range map[string]string{"nodes=10001": "nodes", "depth=1001": "depth", "tokens=257": "tokens", "nodes=0": "nodes", "tokens=x": "tokens", "format=xml": "format", "depht=3": "depht"} {
		a := send(t, s, "GET", "/debug/cache?"+query, nil)
		if a.status != http.StatusBadRequest || errorOf(t, a)["param"] != param {
			t.Errorf("%s: %d, %s", query, a.status, a.body)
		}
	}
	if a := send(t, s, "GET", "/debug/cache?nodes=10000&depth=1000&tokens=256", nil); a.status != http.StatusOK {
		t.Errorf("the limits themselves give %d", a.status)
	}
}
