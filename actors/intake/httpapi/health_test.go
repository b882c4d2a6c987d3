package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

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
