package httpapi_test

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func TestServerInfoAndMetrics(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	want(t, send(t, s, "GET", "/server_info", nil).object(t), testserver.ModelID, "model")
	want(t, send(t, s, "GET", "/get_server_info", nil).object(t), 512, "context_length")
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 7})
	metrics := string(send(t, s, "GET", "/metrics", nil).body)
	for _, line := range []string{"troupe_generation_tokens_total", "troupe_prompt_tokens_total"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

func TestFlushCache(t *testing.T) {
	s := testserver.Start(t, testserver.Options{PageSize: 1})
	body := object{"prompt": onceUpon, "max_tokens": 3, "seed": 1}
	post(t, s, "/v1/completions", body)
	s.WaitIdle(t)
	want(t, send(t, s, "POST", "/flush_cache", nil).object(t), true, "success")
	want(t, post(t, s, "/v1/completions", body), 0, "usage", "prompt_tokens_details", "cached_tokens")
	want(t, post(t, s, "/v1/completions", body), len(encode(onceUpon))-1, "usage", "prompt_tokens_details", "cached_tokens")
}

func TestAudit(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Pages: 50})
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 20})
	s.WaitIdle(t)
	a := send(t, s, "GET", "/debug/audit", nil).object(t)
	want(t, a, true, "ok")
	want(t, a, 50, "total")
	if a["free"].(float64)+a["evictable"].(float64) != 50 {
		t.Errorf("pages are missing: %v", a)
	}
}
