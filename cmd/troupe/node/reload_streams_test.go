package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// Keys, limits and the log level change many times, by SIGHUP and by the file,
// while 64 streams are open: each of them gets the same bytes as without, and new
// requests see the new state. Their own key is removed with the first change.
func TestNoStreamNoticesAReload(t *testing.T) {
	const streams, changes = 64, 8
	body := func(i int) string {
		return fmt.Sprintf(`{"text": "Once upon a time there was a %d", "stream": true, "sampling_params": {"max_new_tokens": 30, "temperature": 1, "ignore_eos": true, "sampling_seed": %d}}`, i, i)
	}
	want := make([]string, streams)
	undisturbed := openReloaded(t, "")
	undisturbed.free()
	var asking sync.WaitGroup
	for i := range want {
		asking.Go(func() { want[i] = texts(undisturbed.ask("POST", "/generate", body(i)).Body.String()) })
	}
	asking.Wait()

	r := openReloaded(t, "api-key: key-0\n")
	why := make(chan string, 1)
	r.node.Reloads = Reloads{Load: r.load, Why: why}
	watches, err := r.node.Config().Watch(func(string) { why <- "the config file has changed" })
	if err != nil {
		t.Fatal(err)
	}
	defer watches.Stop()
	listeners, err := Listen(r.node.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.node.Serve(ctx, r.api, listeners) }()
	url := "http://" + listeners.API.Addr().String()
	ask := func(method, path, body, key string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return resp.StatusCode, string(text)
	}

	got := make([]string, streams)
	var clients sync.WaitGroup
	for i := range got {
		clients.Go(func() {
			status, text := ask("POST", "/generate", body(i), "key-0")
			if got[i] = texts(text); status != 200 {
				t.Errorf("stream %d: %d %s", i, status, text)
			}
		})
	}
	for r.node.Meter.Value(messages.RequestsOpen) < streams {
		runtime.Gosched()
	}
	for k := 1; k <= changes; k++ {
		for range 3 { // of more than 30 steps
			r.permits <- struct{}{}
		}
		old, now := fmt.Sprint("key-", k-1), fmt.Sprint("key-", k)
		level := []string{"info", "debug"}[k%2]
		r.write(fmt.Sprintf("api-key: %s\nmax-open-requests: %d\nqueue-timeout: %ds\nrequest-timeout: %dms\nmax-body-bytes: %d\nlog-level: %s\n", now, k, k, k, 1000+k, level))
		if k%2 == 0 {
			why <- "SIGHUP" // the watch finds nothing new afterwards
		}
		for r.node.Config().HTTP.APIKeys[0] != now {
			runtime.Gosched()
		}
		for key, status := range map[string]int{old: 401, now: 200} {
			if code, _ := ask("GET", "/v1/models", "", key); code != status {
				t.Errorf("change %d: %s gives %d, want %d", k, key, code, status)
			}
		}
		if code, text := ask("POST", "/generate", body(0), now); code != 429 || !strings.Contains(text, fmt.Sprintf("at most %d may be open", k)) {
			t.Errorf("change %d: a request beyond the limit gives %d: %.200s", k, code, text)
		}
		if code, _ := ask("POST", "/tokenize", strings.Repeat(" ", 1001+k), now); code != 413 {
			t.Errorf("change %d: a large body gives %d", k, code)
		}
		if debug := r.node.opt.Log.Debug() != nil; debug != (level == "debug") {
			t.Errorf("change %d: debug %v at level %s", k, debug, level)
		}
	}
	if open := r.node.Meter.Value(messages.RequestsOpen); open != streams {
		t.Errorf("%v streams are open at the end of the changes, want %d", open, streams)
	}
	r.free()
	clients.Wait()
	for i := range want {
		if got[i] != want[i] || want[i] == "" {
			t.Errorf("stream %d: %q, want %q", i, got[i], want[i])
		}
	}
	if n := r.node.Meter.Value(messages.ReloadsApplied); n != changes {
		t.Errorf("%v changes were applied, want %d", n, changes)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// texts are the texts of a stream of /generate.
func texts(stream string) string {
	var all strings.Builder
	for line := range strings.Lines(stream) {
		if _, text, ok := strings.Cut(line, `"text":`); ok {
			text, _, _ = strings.Cut(text, `,"meta_info"`)
			all.WriteString(text)
		}
	}
	return all.String()
}
