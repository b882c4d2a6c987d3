package hub_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// page answers like the login page of a network.
func page(c *hubtest.Call) bool {
	c.W.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(c.W, "\n<!DOCTYPE html><title>Welcome to our lobby</title>")
	return true
}

// A model that the cache has is used, with a warning, if the hub refuses access or does not
// answer at all. The conditions of a gated model are shown.
func TestTheCacheWillDo(t *testing.T) {
	for title, c := range map[string]struct {
		fault hubtest.Fault
		want  string // in the warning, or in the error
		fails bool
	}{
		"down":               {hubtest.Status(503, ""), "failed with status 503", false},
		"a login page":       {page, "a web page came instead of the hub's answer", false},
		"an expired token":   {hubtest.Status(401, ""), "there is no model org/little on", false},
		"became private":     {hubtest.Status(401, "RepoNotFound"), "there is no model org/little on", false},
		"refused":            {hubtest.Status(403, ""), "refuses access to org/little", false},
		"gated":              {hubtest.Status(403, "GatedRepo"), "is gated", true},
		"gated, no token":    {hubtest.Status(401, "GatedRepo"), "is gated", true},
		"it is gone":         {hubtest.Status(404, "RepoNotFound"), "there is no model org/little on", true},
		"not one of its own": {hubtest.Status(418, ""), "unexpected status 418", true},
	} {
		h := hubtest.Start(t, little())
		opt := options(t, h)
		h.SetFault(c.fault)
		if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, without a cache: %v, want %q", title, err, c.want)
		}
		h.SetFault(nil)
		want, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
		if err != nil {
			t.Fatal(err)
		}
		h.SetFault(c.fault)
		warned := ""
		opt.Warn = func(text string) { warned = text }
		got, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
		switch {
		case c.fails:
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", title, err, c.want)
			}
		case err != nil || got.Path != want.Path || !strings.Contains(warned, c.want) || !strings.HasSuffix(warned, ". Using the cached files of org/little"):
			t.Errorf("%s: %+v, %v, warning %q", title, got, err, warned)
		}
	}
}

// Of two quantisations that the cache has, offline the complete one is used, although the
// other one is preferred.
func TestOfflineWithHalfAModel(t *testing.T) {
	repo := &hubtest.Repo{Name: "org/q", Files: map[string][]byte{"a-Q4_K_M-00001-of-00002.gguf": data("1", 5000), "a-Q4_K_M-00002-of-00002.gguf": data("2", 5000), "a-Q8_0.gguf": data("8", 5000)}}
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/q:Q8_0")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opt.Progress = func(p hub.Progress) {
		if p.FilesDone == 1 {
			cancel()
		}
	}
	if _, err := hub.New(opt).Pull(ctx, name(t, "org/q")); err == nil {
		t.Fatal("the pull was not interrupted")
	}
	opt.Offline = true
	if got, err := hub.New(opt).Pull(t.Context(), name(t, "org/q")); err != nil || filepath.Base(got.Path) != "a-Q8_0.gguf" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/q:Q4_K_M")); err == nil || !strings.Contains(err.Error(), "only a part of org/q:Q4_K_M") {
		t.Errorf("the other one: %v", err)
	}
}

// Without a network, a model that the cache has is used after one attempt; another one is
// tried several times.
func TestNoWaitForANetworkThatIsNotThere(t *testing.T) {
	h := hubtest.Start(t, little())
	opt := options(t, h)
	want, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	tries, waits, warned, limit := 0, 0, "", time.Duration(0)
	opt.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		at, _ := r.Context().Deadline()
		limit = time.Until(at)
		tries++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}}
	})
	opt.Wait = func(context.Context, time.Duration) error { waits++; return nil }
	opt.Warn = func(text string) { warned += text }
	got, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err != nil || got.Path != want.Path || tries != 1 || waits != 0 || !strings.Contains(warned, "no such host") || !strings.HasSuffix(warned, ". Using the cached files of org/little") {
		t.Errorf("%+v, %v after %d attempts and %d pauses; warning %q", got, err, tries, waits, warned)
	}
	if limit <= 0 || limit > opt.HeaderTimeout {
		t.Errorf("the limit of the attempt is %v", limit)
	}
	tries = 0
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little@other")); err == nil || tries < 3 || waits != tries-1 {
		t.Errorf("not in the cache: %v after %d attempts and %d pauses", err, tries, waits)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
