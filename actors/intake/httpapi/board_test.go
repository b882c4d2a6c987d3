package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// boardFrame is what these tests read of a frame.
type boardFrame struct {
	State  string `json:"state"`
	Models []struct {
		Model   string         `json:"model"`
		Stale   bool           `json:"stale"`
		Counts  map[string]int `json:"counts"`
		Engines []struct {
			Pages   map[string]int `json:"pages"`
			Cells   string         `json:"cells"`
			PerCell int            `json:"pages_per_cell"`
		} `json:"engines"`
		Requests []struct {
			ID     uint64 `json:"id"`
			UserID string `json:"user_id"`
			State  string `json:"state"`
			Pages  int    `json:"pages"`
			Shared int    `json:"shared"`
		} `json:"requests"`
		Readings struct {
			Metrics map[string]float64 `json:"metrics"`
		} `json:"readings"`
	} `json:"models"`
}

// readBoard reads frames until the returned function has seen enough.
func readBoard(t *testing.T, s *testserver.Server, enough func(f *boardFrame) bool, headers ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp := openBoard(t, ctx, s, headers...)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var f boardFrame
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if enough(&f) {
			return
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
}

func openBoard(t *testing.T, ctx context.Context, s *testserver.Server, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/board", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := testserver.Client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// crowd sends requests of 64 clients to a held server of 32 rows, and steps it on until some
// of them decode and others wait.
func crowd(t *testing.T) *testserver.Server {
	t.Helper()
	s := testserver.Start(t, testserver.Options{Pages: 2048})
	s.Hold()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended := make(chan struct{}, 64)
	t.Cleanup(func() {
		s.Resume()
		for range 64 {
			<-ended
		}
	})
	for i := range 64 {
		body, _ := json.Marshal(object{"prompt": fmt.Sprintf("%s %d %s", onceUpon, i%8, onceUpon), "max_tokens": 100, "seed": i})
		go func() {
			defer func() { ended <- struct{}{} }()
			r, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/completions", strings.NewReader(string(body)))
			if err != nil {
				return
			}
			r.Header.Set("Content-Type", "application/json")
			if resp, err := http.DefaultClient.Do(r); err == nil {
				resp.Body.Close()
			}
		}()
	}
	readBoard(t, s, func(f *boardFrame) bool { return len(f.Models[0].Requests) == 64 })
	for range 20 {
		s.Step(t)
	}
	return s
}

// metricsOf are the metrics of a server, as Prometheus reads them.
func metricsOf(t *testing.T, s *testserver.Server) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(string(send(t, s, "GET", "/metrics", nil).body)) {
		name, rest, _ := strings.Cut(line, "{")
		var v float64
		if _, value, ok := strings.Cut(rest, "} "); ok && strings.HasPrefix(name, "troupe_") {
			if _, err := fmt.Sscan(value, &v); err == nil {
				all[name] += v
			}
		}
	}
	return all
}

// While 64 clients run, what the snapshots of the board count is what the metrics say.
func TestTheBoardCountsAsTheMetrics(t *testing.T) {
	s := crowd(t)
	for range 5 {
		s.Step(t)
		// The device is held, so the numbers do not change between the two readings.
		readBoard(t, s, func(f *boardFrame) bool {
			m, want := f.Models[0], metricsOf(t, s)
			if m.Stale || f.State != "ready" || len(m.Engines) != 1 {
				t.Fatalf("%+v", f)
			}
			got := map[string]int{"num_running_reqs": m.Counts["running"], "num_queue_reqs": m.Counts["waiting"], "num_retracted_reqs": m.Counts["retracted"],
				"kv_pages": m.Engines[0].Pages["total"], "kv_pages_free": m.Engines[0].Pages["free"], "kv_pages_evictable": m.Engines[0].Pages["evictable"],
				"kv_pages_protected": m.Engines[0].Pages["protected"], "kv_pages_leased": m.Engines[0].Pages["leased"]}
			for name, n := range got {
				if float64(n) != want["troupe_"+name] || m.Readings.Metrics[name] != float64(n) {
					t.Errorf("%s is %d, and in its readings %g; the metrics say %g", name, n, m.Readings.Metrics[name], want["troupe_"+name])
				}
			}
			private := 0
			for _, r := range m.Requests {
				private += r.Pages - r.Shared
				if r.UserID == "" || r.Pages == 0 != (r.State == "waiting") {
					t.Errorf("%+v", r)
				}
			}
			if private != m.Engines[0].Pages["leased"] || m.Counts["running"] != 32 || m.Counts["waiting"] != 32 {
				t.Errorf("requests have %d pages of their own, %d are leased; %v", private, m.Engines[0].Pages["leased"], m.Counts)
			}
			return true
		})
	}
}

// Without readers no frames are made and nothing is asked of the engine.
func TestTheBoardRestsWithoutReaders(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for range 2 {
		if httpapi.BoardRuns(s.HTTP) {
			t.Fatal("frames are made without a reader")
		}
		frames := 0
		readBoard(t, s, func(*boardFrame) bool {
			frames++
			return frames == 3 && httpapi.BoardRuns(s.HTTP)
		})
		waitForNoReader(t, s)
	}
}

func waitForNoReader(t *testing.T, s *testserver.Server) {
	t.Helper()
	for end := time.Now().Add(time.Minute); httpapi.BoardRuns(s.HTTP); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("frames are made although the readers have gone")
		}
	}
}

func TestReadersOfTheBoardAreLimited(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"user"}, AdminAPIKey: "boss"}})
	wantError(t, "a user", send(t, s, "GET", "/v1/board", nil, "Authorization", "Bearer user"), 403, "admin_key_required", nil, "admin")
	boss := []string{"Authorization", "Bearer boss"}
	wantError(t, "a parameter", send(t, s, "GET", "/v1/board?fast=1", nil, boss...), 400, "unknown_parameter", "fast", "fast is not a parameter")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 16 {
		resp := openBoard(t, ctx, s, boss...)
		defer resp.Body.Close()
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || resp.StatusCode != 200 { // it has a frame, so it is a reader
			t.Fatalf("reader %d: %s, %v", i, resp.Status, err)
		}
	}
	a := send(t, s, "GET", "/v1/board", nil, boss...)
	wantError(t, "one more", a, 429, "too_many_readers", nil, "close one of them")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	cancel()
	waitForNoReader(t, s)
	readBoard(t, s, func(*boardFrame) bool { return true }, boss...)
}
