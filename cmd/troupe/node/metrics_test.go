package node

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// The metrics of a server that has served requests pass `promtool check metrics`.
func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	c := settings(t)
	c.Cache.Events = true
	api := open(t, c, nil).API().Handler()
	get := func(method, path, body string) string {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		api.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	for range 2 { // the second one finds its prompt in the cache
		get("POST", "/v1/completions", `{"prompt": "Once upon a time there was a fox", "max_tokens": 20}`)
	}
	text := get("GET", "/metrics", "")
	for _, name := range []string{"troupe_kv_pages", "troupe_cache_hit_rate", "troupe_memory_bytes", "troupe_num_requests_total", "go_goroutines"} {
		if !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("/metrics lacks %s", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
