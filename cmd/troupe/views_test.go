package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

func TestTopShowsARunningServer(t *testing.T) {
	s := commandline.Serve(t)
	s.Complete(t, "", commandline.Story)
	s.Complete(t, "", commandline.Story)
	s.Idle(t)
	text := mustRun(t, "", "top", "--url", s.URL, "--once", "--json", "--interval", "10ms")
	var v struct {
		Ready  bool
		Window float64 `json:"window_seconds"`
		Memory telemetry.MemoryStats
		Cache  map[string]*float64
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	m := v.Memory
	if !v.Ready || v.Window <= 0 || m.Evictable == 0 || m.Used != 0 || m.Free+m.Evictable != m.Total || *v.Cache["hit_rate_since_start"] <= 0 || m.ByPurpose["weights"] == 0 {
		t.Errorf("%s", text)
	}
	if page := mustRun(t, "", "top", "--url", s.URL, "--once", "--interval", "10ms"); !strings.Contains(page, "evictable") || strings.Contains(page, "\x1b") {
		t.Errorf("the plain page is\n%s", page)
	}
	table := mustRun(t, "", "inspect", "memory", "--url", s.URL)
	for _, want := range []string{"total KV cache", "evictable", "cache hit ratio", "radix tree nodes", "device memory allocated", "workspace"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s:\n%s", want, table)
		}
	}
	if text := mustRun(t, "", "inspect", "memory", "--url", s.URL, "--json"); !strings.Contains(text, `"used_kv_cache": 0`) {
		t.Errorf("the statistics are %s", text)
	}
}

// The setting reaches the cache, the observer and the endpoint.
func TestKVEventsOfAServer(t *testing.T) {
	s := commandline.Serve(t, "--kv-events")
	s.Complete(t, "", commandline.Story)
	s.Idle(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/kv_events?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && lines.Text() != "event: stored" {
	}
	if lines.Text() != "event: stored" {
		t.Errorf("the stream ended without a stored page: %v", lines.Err())
	}
}

func TestViewsNameWhatIsWrong(t *testing.T) {
	// A port that was free a moment ago may belong to another test by now.
	const nobody = "http://127.0.0.1:1"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	defer other.Close()
	keyed := commandline.Serve(t, "--api-key", "secret")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nobody there":   {[]string{"top", "--once", "--url", nobody}, "troupe serve"},
		"not an address": {[]string{"top", "--url", "ftp://x"}, "http://127.0.0.1:30000"},
		"another server": {[]string{"top", "--once", "--url", other.URL}, "not a Troupe server"},
		"no key":         {[]string{"inspect", "memory", "--url", keyed.URL}, "--api-key"},
		"no url":         {[]string{"inspect", "memory", "--record", "5s"}, "--url"},
		"no record":      {[]string{"inspect", "memory", "--url", "x", "--plot", "a.svg"}, "--record"},
		"no reading":     {[]string{"inspect", "memory", "--url", "x", "--record", "1ms"}, "there would be no reading"},
		"no curve":       {[]string{"inspect", "memory", "--url", "x", "--record", "1s", "--plot", "a.svg"}, "two readings"},
		"no format":      {[]string{"inspect", "memory", "--url", "x", "--record", "5s", "--plot", "a.gif"}, "svg"},
		"too many":       {[]string{"inspect", "memory", "--url", "x", "--record", "5h", "--interval", "10ms"}, "longer interval"},
		"no interval":    {[]string{"top", "--interval", "0s"}, "--interval"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, "", c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if out := mustRun(t, "", "inspect", "memory", "--url", keyed.URL, "--api-key", "secret"); !strings.Contains(out, "evictable") {
		t.Error(out)
	}
	guarded := commandline.Serve(t, "--api-key", "secret", "--admin-api-key", "boss")
	if _, err := run(t, "", "inspect", "cache", "--url", guarded.URL, "--api-key", "secret"); err == nil || !strings.Contains(err.Error(), "--admin-api-key") {
		t.Errorf("the tree for an API key: %v", err)
	}
	if out := mustRun(t, "", "inspect", "cache", "--url", guarded.URL, "--admin-api-key", "boss"); !strings.Contains(out, "nodes") {
		t.Error(out)
	}
	t.Setenv("TROUPE_API_KEY", "secret")
	t.Setenv("TROUPE_ADMIN_API_KEY", "boss")
	for _, args := range [][]string{{"inspect", "cache"}, {"inspect", "memory"}, {"top", "--once", "--interval", "10ms"}} {
		mustRun(t, "", append(args, "--url", guarded.URL)...)
	}
}
