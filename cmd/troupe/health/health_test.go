package health_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-engine/troupe/cmd/troupe/health"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

func TestHealth(t *testing.T) {
	t.Setenv("TROUPE_API_KEY", "a key that probes do not need")
	var ready atomic.Bool
	block := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "":
			t.Error("a probe sends a key")
		case r.URL.Path == "/slow/readyz":
			<-block
		case r.URL.Path == "/readyz" && !ready.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write([]byte(`{"error":{"message":"the engine is starting"}}`))
		case r.URL.Path != "/readyz" && r.URL.Path != "/livez":
			t.Errorf("%s was asked", r.URL.Path)
		}
	}))
	t.Cleanup(func() { close(block); s.Close() })
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct {
		name, args, want, fails string
		unready                 bool
	}{
		{name: "ready", want: "ready\n"},
		{name: "live", args: "--live", want: "live\n"},
		{name: "not ready", unready: true, fails: "/readyz at " + s.URL + " failed: HTTP 503 Service Unavailable: the engine is starting"},
		{name: "live, not ready", args: "--live", unready: true, want: "live\n"},
		{name: "no server", args: "--url " + gone.URL, fails: "no server is running at " + gone.URL},
		{name: "no answer", args: "--timeout 50ms --url " + s.URL + "/slow", fails: "the server does not respond"},
		{name: "no address", args: "--url ftp://x", fails: `--url: "ftp://x" is not the address of a server`},
		{name: "no time", args: "--timeout 0s", fails: "--timeout is 0s; it must be above 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ready.Store(!c.unready)
			t.Setenv("TROUPE_URL", s.URL)
			out, err := commandline.Run(t, health.New(), "", strings.Fields(c.args)...)
			if c.fails == "" && (err != nil || out != c.want) {
				t.Errorf("%q, %v", out, err)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("%v, want %s", err, c.fails)
			}
		})
	}
}
