package serverapi

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://a:1": "http://a:1", "127.0.0.1:30000": "http://127.0.0.1:30000", "https://a/b": "https://a/b",
		"http://a:1/v1": "http://a:1", "a:1/v1/": "http://a:1", "https://a/b/v1": "https://a/b", "http://a/v10": "http://a/v10",
		"": "", "ftp://a": "", "http://": "", "http://a b": "", "://": "",
	} {
		u, err := ParseURL(text)
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:30000")):
			t.Errorf("%q: %v, %v", text, u, err)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q: %v, %v, want %s", text, u, err, want)
		}
	}
}

func TestAnEmptyAddressIsNamed(t *testing.T) {
	if _, err := ParseURL(""); err == nil || !strings.Contains(err.Error(), "is empty; use for example") {
		t.Error(err)
	}
}

// An address with the wrong one of http and https gives an error with the right one.
func TestWrongScheme(t *testing.T) {
	answer := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secure := httptest.NewServer(answer), httptest.NewUnstartedServer(answer)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	host := func(u string) string { return u[strings.Index(u, "://")+3:] }
	for _, c := range []struct{ url, want string }{
		{"https://" + host(plain.URL), "the server at " + host(plain.URL) + " speaks plain HTTP; use --url " + plain.URL},
		{"http://" + host(secure.URL), "the server at " + host(secure.URL) + " speaks HTTPS; use --url " + secure.URL},
	} {
		base, err := ParseURL(c.url)
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{Base: base}
		if _, err := s.Get(t.Context(), "/v1/cluster", nil); err == nil || err.Error() != c.want {
			t.Errorf("Get: %v, want %s", err, c.want)
		}
		if _, _, err := s.Stream(t.Context(), "/v1/cluster/events", nil); err == nil || err.Error() != c.want {
			t.Errorf("Stream: %v, want %s", err, c.want)
		}
	}
}

// Servers write errors in many ways.
func TestErrorOf(t *testing.T) {
	for _, c := range []struct{ body, code, message string }{
		{`{"error":{"message":"wrong","code":"x"}}`, "x", "wrong"},
		{`{"error":{"message":"wrong","code":400}}`, "", "wrong"},
		{`{"error":"wrong"}`, "", "wrong"},
		{`{"object":"error","message":"wrong"}`, "", "wrong"},
		{`{"detail":"wrong"}`, "", "wrong"},
		{`{"detail":[{"msg":"wrong"}]}`, "", "[map[msg:wrong]]"},
		{"404 page not found\n", "", "404 page not found"},
		{`{"error":{}}`, "", `{"error":{}}`},
		{strings.Repeat("a", 300), "", strings.Repeat("a", 200)},
		{"", "", "no reason given"},
	} {
		if code, message := ErrorOf([]byte(c.body)); code != c.code || message != c.message {
			t.Errorf("%s: %q and %q, want %q and %q", c.body, code, message, c.code, c.message)
		}
	}
}

func TestGet(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") == "":
			http.Error(w, `{"error":{"message":"key\u001b[2J"}}`, http.StatusUnauthorized)
		case r.URL.Path == "/base/admin":
			http.Error(w, `{"error":{"message":"no","code":"admin_key_required"}}`, http.StatusForbidden)
		case r.URL.Path != "/base/here" || r.URL.Query().Get("q") != "1" || r.Header.Get("Authorization") != "Bearer k":
			http.NotFound(w, r)
		default:
			w.Write([]byte("yes"))
		}
	}))
	base, err := url.Parse(h.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Base: base, Key: "k"}
	if body, err := s.Get(t.Context(), "here", url.Values{"q": {"1"}}); err != nil || string(body) != "yes" {
		t.Errorf("%q, %v", body, err)
	}
	fails := func(s *Server, path, want string) {
		t.Helper()
		if _, err := s.Get(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	fails(s, "/there", "404 Not Found: 404 page not found")
	fails(s, "/admin", "requires its admin key; use --admin-api-key")
	fails(&Server{Base: base}, "/here", `requires an API key; use --api-key or set TROUPE_API_KEY (or --admin-api-key and TROUPE_ADMIN_API_KEY): key\u001b[2J`)
	h.Close()
	fails(s, "/here", "no server is running at "+h.URL)
}

func TestPostAndStream(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			if r.Method == "POST" && r.Header.Get("Content-Type") == "application/json" {
				io.Copy(w, r.Body)
			}
		case "/stream":
			fmt.Fprint(w, "one ")
			w.(http.Flusher).Flush()
			<-r.Context().Done() // the stream goes on until the reader leaves
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/slow":
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			http.NotFound(w, r)
		}
	}))
	defer h.Close()
	base, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Base: base}
	if body, err := s.Post(t.Context(), "/echo", []byte(`{"a":1}`)); err != nil || string(body) != `{"a":1}` {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := s.Post(t.Context(), "/there", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	body, _, err := s.Stream(t.Context(), "/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(body, first); err != nil || string(first) != "one " {
		t.Errorf("%q, %v", first, err)
	}
	body.Close()
	for path, want := range map[string]bool{"/there": true, "/busy": false, "/slow": false} {
		if _, refused, err := s.Stream(t.Context(), path, nil); err == nil || refused != want {
			t.Errorf("%s: refused %v, %v", path, refused, err)
		}
	}
}
