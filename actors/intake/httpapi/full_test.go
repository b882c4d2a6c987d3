package httpapi_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// While every new request would wait too long, it is refused before its body is
// read. Everything else is answered.
func TestAFullServerReadsNoBodies(t *testing.T) {
	var wait atomic.Int64
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"k"}}, Full: func() (time.Duration, time.Duration, bool) {
		w := time.Duration(wait.Load())
		return w, 30 * time.Second, w > 30*time.Second
	}})
	wait.Store(int64(31*time.Second + 200*time.Millisecond))
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/generate"} {
		// The body never comes.
		all := wire(t, socket(t, s, head(path, "Authorization: Bearer k", "Content-Length: 1000000")))
		if len(all) != 1 || all[0].status != http.StatusTooManyRequests || all[0].header.Get("Retry-After") != "32" {
			t.Fatalf("%s: %v", path, all)
		}
		if e := errorOf(t, all[0]); e["code"] != "rate_limit_exceeded" || !strings.Contains(e["message"].(string), "send it again in 32 s") {
			t.Errorf("%s: %v", path, e)
		}
		if a := send(t, s, "POST", path, `{"not": "read"}`); a.status != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d", path, a.status)
		}
	}
	if a := send(t, s, "POST", "/tokenize", object{"prompt": "a"}, "Authorization", "Bearer k"); a.status != http.StatusOK {
		t.Errorf("/tokenize: %d %s", a.status, a.body)
	}
	wait.Store(int64(30 * time.Second))
	if a := send(t, s, "POST", "/v1/completions", object{"prompt": "a", "max_tokens": 1}, "Authorization", "Bearer k"); a.status != http.StatusOK {
		t.Errorf("at the bound: %d %s", a.status, a.body)
	}
}
