package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// raw sends a request line and headers unchanged and returns status and answer.
func raw(t *testing.T, address, request string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// listening is a server on its own address, which its settings and its listener
// have.
func listening(t *testing.T, opt httpapi.Options) (address string) {
	t.Helper()
	s := testserver.Start(t, testserver.Options{}) // the engine behind it
	h := httpapi.New(httpapi.Deps{Options: opt, Models: httpapi.Serving(s.Served), Metrics: http.NotFoundHandler(), Now: time.Now,
		Seed: func() uint64 { return 1 }, Info: func() map[string]any { return nil }})
	l, err := httpapi.Listen(h.Options)
	if err != nil {
		if strings.Contains(opt.Host, ":") {
			t.Skip("this machine has no IPv6")
		}
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	t.Cleanup(func() {
		if err := h.Shutdown(t.Context()); err != nil {
			h.Drain()
		}
		<-served
	})
	return l.Addr().String()
}

// On a loopback address a server answers for loopback names and those of its
// settings. On other addresses it checks names only if the settings have some.
func TestHosts(t *testing.T) {
	const ok, no, bad = 200, 403, 400 // the last by net/http
	loopback := map[string]int{
		"localhost": ok, "localhost:30000": ok, "LOCALHOST:1": ok, "localhost.": ok, "localhost.:80": ok, "app.localhost:3000": ok,
		"127.0.0.1": ok, "127.0.0.1:30000": ok, "127.1.2.3:30000": ok, "127.0.0.1.:30000": ok, "[::1]": ok, "[::1]:30000": ok,
		"[0:0:0:0:0:0:0:1]:30000": ok, "[::ffff:127.0.0.1]:30000": ok,
		"evil.example": no, "evil.example:30000": no, "localhost.evil.example": no, "evillocalhost": no, "notlocalhost:30000": no, "127.0.0.1.evil.example": no,
		"10.0.0.7:30000": no, "0.0.0.0:30000": no, "[::]:30000": no, "[fd00::1]:30000": no, "127.1:30000": no, "2130706433": no, "0x7f.0.0.1": no,
		"localhost@evil.example": bad, "evil.example@localhost": bad, "localhost:80@evil.example": bad, "localhost:evil.example": no, "localhost:80:80": no,
		"::1": no, "[::1": no, "[::1]evil.example": no, "[localhost]": no, "[127.0.0.1]": no, ".": no, "localhost..": no, ".localhost..": no, ":30000": no,
		"chat.example": no, "": no,
	}
	elsewhere := map[string]int{"evil.example": ok, "localhost": ok, "10.0.0.7:30000": ok, "": ok}
	listed := map[string]int{"chat.example": ok, "CHAT.example:443": ok, "chat.example.": ok, "10.0.0.7": ok, "[fd00::1]:1": ok, "[fd00:0::1]": ok,
		"localhost:2": ok, "127.0.0.1": ok, "[::1]": ok, "evil.example": no, "a.chat.example": no, "chat.example.evil": no, "10.0.0.8": no, "0.0.0.0": no, "": no}
	for _, c := range []struct {
		listen  string
		allowed []string
		hosts   map[string]int
	}{
		{"127.0.0.1", nil, loopback},
		{"127.0.0.2", nil, loopback},
		{"localhost", nil, loopback},
		{"LocalHost", nil, loopback},
		{"::1", nil, loopback},
		{"127.0.0.1", []string{"Chat.Example", "10.0.0.7", "fd00::1"}, listed},
		{"127.0.0.1", []string{"*"}, elsewhere},
		{"0.0.0.0", nil, elsewhere},
		{"", nil, elsewhere},
		{"::", nil, elsewhere},
		{"0.0.0.0", []string{"chat.example", "10.0.0.7", "[fd00::1]"}, listed},
		{"", []string{"chat.example", "10.0.0.7", "fd00::1"}, listed},
	} {
		t.Run(fmt.Sprint(c.listen, c.allowed), func(t *testing.T) {
			address := listening(t, httpapi.Options{Host: c.listen, AllowedHosts: c.allowed})
			for host, want := range c.hosts {
				requests := map[string]string{"origin form": "GET /livez HTTP/1.1\r\nHost: " + host + "\r\n\r\n", "HTTP/1.0": "GET /livez HTTP/1.0\r\nHost: " + host + "\r\n\r\n"}
				if host != "" && !strings.ContainsAny(host, "@.:[]") {
					requests["absolute form"] = "GET http://" + host + "/livez HTTP/1.1\r\nHost: evil.example\r\n\r\n"
				}
				if host == "" {
					requests = map[string]string{"HTTP/1.0": "GET /livez HTTP/1.0\r\n\r\n", "empty": "GET /livez HTTP/1.1\r\nHost:\r\n\r\n"}
				}
				for form, request := range requests {
					status, body := raw(t, address, request)
					if status != want {
						t.Errorf("%q (%s) returns %d, want %d: %s", host, form, status, want, body)
					}
					if status == no && host != "" && (!strings.Contains(body, "allowed-hosts") || !strings.Contains(body, "host_not_allowed")) {
						t.Errorf("%q is refused without the remedy: %s", host, body)
					}
				}
			}
		})
	}
}

// In absolute form the target has the host, not the header (RFC 9112). Every
// endpoint checks it, and no error quotes more than a part.
func TestForeignHosts(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	address := strings.TrimPrefix(s.URL, "http://")
	for request, want := range map[string]int{
		"GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                          403,
		"GET http://evil.example:80/livez HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                       403,
		"GET http://127.0.0.1:9/livez HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                        200,
		"GET http://a@evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                        403,
		"GET http://localhost@evil.example/livez HTTP/1.1\r\nHost: a\r\n\r\n":                                                        403,
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                           200, // net/http's own answer
		"GET /nowhere HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                        403,
		"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                        403,
		"GET /livez HTTP/1.1\r\nHost: " + strings.Repeat("e", 9000) + "\r\n\r\n":                                                     403,
		"POST /flush_cache HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                   403,
		"POST /flush_cache HTTP/1.1\r\nHost: evil.example:1\r\nOrigin: http://evil.example:1\r\nSec-Fetch-Site: same-origin\r\n\r\n": 403,
		"POST /generate HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n":                                              403, // the body never comes
		"GET /livez HTTP/1.1\r\n\r\n":                                                                                                400, // net/http: HTTP/1.1 asks for a Host
	} {
		status, body := raw(t, address, request)
		if status != want || len(body) > 400 {
			t.Errorf("%.200q returns %d, want %d: %s", request, status, want, body)
		}
	}
	if strings.Contains(s.Logs(), "evil.example") {
		t.Error("the log quotes a Host")
	}
}
