package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
)

// Before a model is loaded, probes and people see how far it is. Then the server itself
// takes over the address.
func TestAServerAnswersWhileItStarts(t *testing.T) {
	o := httpapi.Options{Host: "127.0.0.1"}
	l, err := httpapi.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	early, err := httpapi.ServeEarly(l, o)
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, host string) (int, map[string]any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		body := map[string]any{}
		if err != nil || json.Unmarshal(text, &body) != nil {
			t.Fatalf("%s: %q, %v", path, text, err)
		}
		return resp.StatusCode, body
	}
	early.Set(httpapi.Starting{Doing: "downloading org/little", Done: 5, Total: 20})
	if status, body := get("/readyz", ""); status != 503 || body["doing"] != "downloading org/little" || body["done_bytes"] != 5.0 || body["total_bytes"] != 20.0 {
		t.Errorf("%d %v", status, body)
	}
	if status, _ := get("/livez", ""); status != 200 {
		t.Errorf("/livez: %d", status)
	}
	if status, body := get("/v1/models", ""); status != 503 || body["error"].(map[string]any)["code"] != "starting" {
		t.Errorf("%d %v", status, body)
	}
	if status, _ := get("/readyz", "evil.example"); status != 403 {
		t.Errorf("a foreign name: %d", status)
	}
	early.Stop()
	early.Stop() // again is allowed
	after := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status": "ready"}`) })}
	defer after.Close()
	go func() { _ = after.Serve(l) }()
	if status, body := get("/readyz", ""); status != 200 || body["status"] != "ready" {
		t.Errorf("afterwards: %d %v", status, body)
	}
}

// A browser gets a page that shows how far the server is and asks again.
func TestABrowserSeesThatTheServerStarts(t *testing.T) {
	o := httpapi.Options{Host: "127.0.0.1"}
	l, err := httpapi.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	early, err := httpapi.ServeEarly(l, o)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Stop()
	early.Set(httpapi.Starting{Doing: "downloading <b>org</b>", Done: 5 << 10, Total: 20 << 10})
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"downloading &lt;b&gt;org&lt;/b&gt;: 25 % of 20.0 KiB", `<meta http-equiv="refresh" content="2">`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if h := resp.Header; resp.StatusCode != 503 || h.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%s %v", resp.Status, h)
	}
}
