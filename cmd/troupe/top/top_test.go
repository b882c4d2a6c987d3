package top

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/locked"
)

func TestTopWaitsForAServerThatWentAway(t *testing.T) {
	answers := make(chan int, 4)
	info, _ := json.Marshal(map[string]any{"ready": true, "memory": map[string]any{"stats": telemetry.MemoryStats{}}})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(<-answers)
		w.Write(info)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan error, 1)
	out := &locked.Buffer{}
	answers <- 200
	go func() { done <- (&top{server: remote.Server{URL: s.URL}, out: out}).run(ctx, ticks) }()
	for _, status := range []int{200, 503, 200} {
		answers <- status
		ticks <- time.Time{}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) < 2 || !strings.HasPrefix(lines[0], "kv:") || !strings.HasPrefix(lines[1], "cannot read the server's statistics:") {
		t.Errorf("the lines are %q", lines)
	}
}

func TestTopShowsTheNodesOfACluster(t *testing.T) {
	answers := make(chan int, 4)
	nodes, _ := json.Marshal(map[string]any{"nodes": []report.Node{
		{Name: "gateway-1", Role: "gateway", State: report.Ready, Running: 2},
		{Name: "engine-1", Role: "engine", State: report.Lost, KVUsed: 10, KVTotal: 1000, LastFailure: &report.Failure{Cause: "killed\x1b[2J"}},
	}})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/cluster" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(<-answers)
		w.Write(nodes)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan error, 1)
	out := &locked.Buffer{}
	answers <- 200
	go func() { done <- (&top{server: remote.Server{URL: s.URL}, cluster: true, out: out}).run(ctx, ticks) }()
	for _, status := range []int{503, 200} {
		answers <- status
		ticks <- time.Time{}
	}
	ticks <- time.Time{} // the last reading was shown
	cancel()
	answers <- 200
	if err := <-done; err != nil {
		t.Error(err)
	}
	lines := strings.Split(out.String(), "\n")
	want := "1 of 2 nodes ready; gateway-1 ready: 2 running, 0 waiting, kv -; engine-1 lost: 0 running, 0 waiting, kv 10 of 1 000"
	if len(lines) < 3 || lines[0] != want || !strings.HasPrefix(lines[1], "cannot read the server's nodes:") || lines[2] != want {
		t.Errorf("the lines are %q", lines)
	}

	answers <- 200
	out = &locked.Buffer{}
	if err := (&top{server: remote.Server{URL: s.URL}, cluster: true, once: true, out: out}).run(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if text := out.String(); !strings.Contains(text, "1 of 2 nodes ready") || !strings.Contains(text, "engine-1   engine   lost") || strings.Contains(text, "\x1b") {
		t.Errorf("the page is\n%s", text)
	}
}
