package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func TestModels(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	model := object{"id": testserver.ModelID, "object": "model", "created": 1700000000, "owned_by": "troupe"}
	want(t, send(t, s, "GET", "/v1/models", nil).object(t), object{"object": "list", "data": list{model}})
	for _, path := range []string{"/v1/models/fake/model", "/v1/models/fake%2Fmodel"} {
		want(t, send(t, s, "GET", path, nil).object(t), model)
	}
	a := send(t, s, "GET", "/v1/models/other", nil)
	want(t, errorOf(t, a), "model_not_found", "code")
	if a.status != http.StatusNotFound {
		t.Errorf("status %d", a.status)
	}
}

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

func TestHealth(t *testing.T) {
	s := testserver.Start(t, testserver.Options{MaxOpen: 1})
	for path, status := range map[string]string{"/livez": "live", "/readyz": "ready", "/health": "ready", "/health_generate": "healthy"} {
		want(t, send(t, s, "GET", path, nil).object(t), object{"status": status})
	}
	// Full is not broken.
	s.WaitIdle(t)
	open := held(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2})
	want(t, send(t, s, "GET", "/health_generate", nil).object(t), object{"status": "busy"})
	s.Resume()
	if a := <-open; a.status != http.StatusOK {
		t.Errorf("the open request got %d: %s", a.status, a.body)
	}
}

func TestHealthGenerateTimesOut(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{HealthTimeout: 1}})
	s.Hold()
	a := send(t, s, "GET", "/health_generate", nil)
	if e := errorOf(t, a); a.status != http.StatusServiceUnavailable || !strings.Contains(e["message"].(string), "unhealthy: no token within 1ns") {
		t.Errorf("%d: %s", a.status, a.body)
	}
}

// A probe that gets no token because other requests get theirs reports a busy
// server, not a broken one.
func TestHealthGenerateBehindOthers(t *testing.T) {
	s := testserver.Start(t, testserver.Options{MaxRunning: 1, Context: 8192, Pages: 4096, StepTime: time.Millisecond, HTTP: httpapi.Options{HealthTimeout: time.Second}})
	stream := open(t, s, "POST", "/v1/completions", object{"prompt": onceUpon, "max_tokens": 8000, "ignore_eos": true, "stream": true})
	defer stream.Body.Close()
	go io.Copy(io.Discard, stream.Body)
	want(t, send(t, s, "GET", "/health_generate", nil).object(t), object{"status": "busy"})
}

// A full server whose engine hangs is broken, not busy.
func TestHealthGenerateOfAHungEngine(t *testing.T) {
	s := testserver.Start(t, testserver.Options{MaxOpen: 1, HTTP: httpapi.Options{HealthTimeout: 50 * time.Millisecond, HealthInterval: time.Millisecond}})
	open := held(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2})
	for {
		a := send(t, s, "GET", "/health_generate", nil)
		if a.status == http.StatusServiceUnavailable {
			break
		}
		want(t, a.object(t), object{"status": "busy"}) // it got on a moment ago
	}
	s.Resume()
	if a := <-open; a.status != http.StatusOK {
		t.Errorf("the open request got %d: %s", a.status, a.body)
	}
}

// However many clients probe at once, one generation reaches the engine. A client
// above the limit gets its answer at once.
func TestHealthGenerateIsShared(t *testing.T) {
	const waiters = 50
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{HealthWaiters: waiters, HealthInterval: time.Hour, APIKeys: []string{"k"}}})
	s.Hold()
	answers := make(chan answer, waiters+1)
	for range waiters + 1 {
		go func() { answers <- send(t, s, "GET", "/health_generate", nil) }()
	}
	a := <-answers // when all others wait
	if a.header.Get("Retry-After") != "1" || a.status != http.StatusOK {
		t.Errorf("one too many gets %d %s, %v", a.status, a.body, a.header)
	}
	want(t, a.object(t), object{"status": "busy"})
	s.Resume()
	for range waiters {
		want(t, (<-answers).object(t), object{"status": "healthy"})
	}
	if n := metric(t, s, "num_requests_total", "Authorization", "Bearer k"); n != 1 {
		t.Errorf("%v requests reached the engine", n)
	}
	for _, l := range logged(t, s, "request") {
		if l["path"] == "/health_generate" && l["level"] != "debug" {
			t.Errorf("a probe in the access log: %v", l)
		}
	}
}

// A probe does not delay the shutdown and leaves nothing open.
func TestHealthGenerateEndsWithTheServer(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{HealthTimeout: time.Hour}})
	s.Hold()
	probe := make(chan answer, 1)
	go func() { probe <- send(t, s, "GET", "/health_generate", nil) }()
	s.WaitStep(t, 1)
	s.HTTP.Drain()
	if a := <-probe; a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), "shutting down") || a.header.Get("Retry-After") == "" {
		t.Errorf("%d: %s", a.status, a.body)
	}
	s.Resume()
	s.WaitIdle(t)
	if n := metric(t, s, "num_open_reqs"); n != 0 {
		t.Errorf("%v requests are open", n)
	}
}

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

func TestProfilerHasItsOwnHandler(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	if a := send(t, s, "GET", "/debug/pprof/", nil); a.status != http.StatusNotFound {
		t.Errorf("the API answers /debug/pprof/ with %d", a.status)
	}
	admin := httptest.NewUnstartedServer(nil)
	admin.Config.Handler = httpapi.AdminHandler("127.0.0.1", admin.Listener.Addr(), func() []string { return nil })
	admin.Start()
	defer admin.Close()
	for path, status := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/goroutine": 200, "/debug/pprof/cmdline": 404, "/v1/models": 404} {
		resp, err := http.Get(admin.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != status {
			t.Errorf("%s returns %d, want %d", path, resp.StatusCode, status)
		}
	}
}

// The profiler shows much, so pages of other sites cannot read it under any name.
func TestProfilerAnswersNoForeignPage(t *testing.T) {
	admin := httptest.NewUnstartedServer(nil)
	admin.Config.Handler = httpapi.AdminHandler("", admin.Listener.Addr(), func() []string { return []string{"ops.example"} })
	admin.Start()
	defer admin.Close()
	for headers, want := range map[string]int{"Host: localhost": 200, "Host: ops.example:1": 200, "Host: evil.example": 403,
		"Host: localhost\r\nOrigin: http://evil.example": 403, "Host: localhost\r\nSec-Fetch-Site: cross-site": 403} {
		if status, body := raw(t, admin.Listener.Addr().String(), "GET /debug/pprof/ HTTP/1.1\r\n"+headers+"\r\n\r\n"); status != want {
			t.Errorf("%q returns %d: %s", headers, status, body)
		}
	}
}
