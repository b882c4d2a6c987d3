package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

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
