package top

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
