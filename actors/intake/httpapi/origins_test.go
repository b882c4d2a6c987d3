package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// Requests that browsers send for pages of other origins are refused, unless
// they only read or the origin is allowed.
func TestOrigins(t *testing.T) {
	const own, page, evil = "http://127.0.0.1:30000", "https://chat.example", "http://evil.example"
	for _, c := range []struct {
		origins      []string // cors-origins
		host         string
		origin, site string
		act, read    bool // answered
	}{
		{host: "127.0.0.1:30000", act: true, read: true}, // no browser
		{host: "127.0.0.1:30000", origin: own, act: true, read: true},
		{host: "127.0.0.1:30000", origin: own, site: "same-origin", act: true, read: true},
		{host: "127.0.0.1:30000", site: "none", act: true, read: true}, // typed into the address bar
		{host: "127.0.0.1:30000", origin: "HTTP://127.0.0.1:30000", act: true, read: true},
		{host: "127.0.0.1", origin: "http://127.0.0.1", act: true, read: true},
		{host: "127.0.0.1:80", origin: "http://127.0.0.1", act: true, read: true},
		{host: "localhost:443", origin: "https://localhost", act: true, read: true}, // a proxy speaks TLS
		{host: "localhost", origin: "https://localhost", act: true, read: true},
		{host: "LOCALHOST.:30000", origin: "http://localhost:30000", act: true, read: true},
		{host: "[::1]:30000", origin: "http://[::1]:30000", act: true, read: true},
		{host: "[0:0::1]:30000", origin: "http://[::1]:30000", act: true, read: true},

		{host: "127.0.0.1:30000", origin: evil, read: true},
		{host: "127.0.0.1:30000", origin: evil, site: "cross-site", read: true},
		{host: "127.0.0.1:30000", origin: evil, site: "same-origin", read: true},
		{host: "127.0.0.1:30000", site: "cross-site", read: true},
		{host: "127.0.0.1:30000", site: "Cross-Site", read: true},
		{host: "127.0.0.1:30000", site: "same-site", read: true},
		{host: "127.0.0.1:30000", origin: own, site: "cross-site", read: true},
		{host: "127.0.0.1:30000", origin: "null", read: true},
		{host: "127.0.0.1:30000", origin: "http://127.0.0.1:3000", site: "same-site", read: true},
		{host: "127.0.0.1:30000", origin: "http://127.0.0.1", read: true},
		{host: "127.0.0.1:30000", origin: "http://localhost:30000", read: true},
		{host: "localhost:30000", origin: "http://[::1]:30000", read: true},
		{host: "127.0.0.1:30000", origin: "http://127.0.0.1:30000@evil.example", read: true},
		{host: "127.0.0.1:30000", origin: "http://evil.example@127.0.0.1:30000", read: true},
		{host: "127.0.0.1:30000", origin: own + "/", read: true},
		{host: "127.0.0.1:30000", origin: own + "#", read: true},
		{host: "127.0.0.1:30000", origin: own + ".evil.example", read: true},
		{host: "127.0.0.1:30000", origin: own + ", " + evil, read: true},
		{host: "127.0.0.1:30000", origin: own + "\r\nOrigin: " + evil, read: true},
		{host: "127.0.0.1:30000", origin: "file://", read: true},
		{host: "127.0.0.1:30000", origin: "chrome-extension://127.0.0.1:30000", read: true},
		{host: "127.0.0.1:30000", origin: "127.0.0.1:30000", read: true},
		{host: "127.0.0.1:30000", origin: "%", read: true},

		{origins: []string{page}, host: "localhost", origin: page, act: true, read: true},
		{origins: []string{page}, host: "localhost", origin: page, site: "cross-site", act: true, read: true},
		{origins: []string{page}, host: "localhost", origin: page + ":8443", site: "cross-site", read: true},
		{origins: []string{page}, host: "localhost", origin: page + "\r\nOrigin: " + evil, read: true},
		{origins: []string{page}, host: "localhost", origin: evil, read: true},
		{origins: []string{page}, host: "localhost", site: "cross-site", read: true},
		{origins: []string{page}, host: "localhost", origin: "http://localhost", site: "same-origin", act: true, read: true},
		{origins: []string{"null"}, host: "localhost", origin: "null", site: "cross-site", act: true, read: true},
		{origins: []string{"*"}, host: "localhost", origin: evil, site: "cross-site", act: true, read: true},
		{origins: []string{"*"}, host: "localhost", origin: "null", site: "cross-site", act: true, read: true},
		{origins: []string{"*"}, host: "evil.example", origin: evil}, // the name counts all the same
	} {
		s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{CORSOrigins: c.origins}, Change: withEvents(0)})
		headers := "Host: " + c.host + "\r\n"
		if c.origin != "" {
			headers += "Origin: " + c.origin + "\r\n"
		}
		if c.site != "" {
			headers += "Sec-Fetch-Site: " + c.site + "\r\n"
		}
		for endpoint, answered := range map[string]bool{
			"GET /livez": c.read, "HEAD /health": c.read, "GET /v1/models": c.read, "GET /v1/models/x": c.read, "GET /metrics": c.read, "GET /server_info": c.read, "GET /get_server_info": c.read,
			"GET /readyz":       c.read,
			"POST /flush_cache": c.act, "POST /abort_request": c.act, "POST /generate": c.act, "POST /v1/completions": c.act, "POST /v1/chat/completions": c.act,
			"POST /tokenize": c.act, "POST /v1/tokenize": c.act, "POST /detokenize": c.act, "POST /v1/detokenize": c.act,
			"GET /health_generate": c.act, "GET /debug/cache": c.act, "GET /debug/audit": c.act, "GET /v1/kv_events?after=x": c.act, "POST /metrics": c.act, "GET /nowhere": c.act,
		} {
			status, body := raw(t, strings.TrimPrefix(s.URL, "http://"), endpoint+" HTTP/1.1\r\n"+headers+"Connection: close\r\n\r\n")
			if (status != 403) != answered {
				t.Errorf("%s with %q, cors-origins %q: %d, want it answered: %v", endpoint, headers, c.origins, status, answered)
			}
			if remedies := map[bool]string{true: "cors-origins", false: "allowed-hosts"}[c.read]; status == 403 && !strings.HasPrefix(endpoint, "HEAD") && !strings.Contains(body, remedies) {
				t.Errorf("%s with %q is refused without a remedy: %s", endpoint, headers, body)
			}
		}
		if strings.Contains(s.Logs(), "evil") {
			t.Errorf("the log quotes a header of %q", headers)
		}
	}
}

// A link of another site may open the descriptions of the API. What its scripts and frames
// send is refused, and a link opens nothing else.
func TestLinksOfOtherSites(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for _, c := range []struct {
		method, path, mode, dest string
		want                     int
	}{
		{"GET", "/docs", "navigate", "document", 200},
		{"GET", "/openapi.json", "navigate", "document", 200},
		{"GET", "/docs", "navigate", "iframe", 403},
		{"GET", "/docs", "navigate", "object", 403},
		{"GET", "/docs", "no-cors", "document", 403},
		{"GET", "/docs", "cors", "empty", 403},
		{"GET", "/openapi.json", "no-cors", "script", 403},
		{"GET", "/openapi.json", "", "", 403},
		{"POST", "/docs", "navigate", "document", 403},
		{"GET", "/debug/cache", "navigate", "document", 403},
		{"GET", "/health_generate", "navigate", "document", 403},
		{"POST", "/flush_cache", "navigate", "document", 403},
	} {
		for _, site := range []string{"cross-site", "same-site"} {
			headers := []string{"Sec-Fetch-Site", site}
			if c.mode != "" {
				headers = append(headers, "Sec-Fetch-Mode", c.mode, "Sec-Fetch-Dest", c.dest)
			}
			if a := send(t, s, c.method, c.path, nil, headers...); a.status != c.want {
				t.Errorf("%s %s from %s, %s as %s: %d, want %d", c.method, c.path, site, c.mode, c.dest, a.status, c.want)
			}
		}
	}
	status, _ := raw(t, strings.TrimPrefix(s.URL, "http://"), "GET /docs HTTP/1.1\r\nHost: evil.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nConnection: close\r\n\r\n")
	if status != http.StatusForbidden {
		t.Errorf("under a foreign name: %d", status)
	}
}

// A page on another site once could empty the cache of a server without keys.
func TestAForeignPageDoesNotEmptyTheCache(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := object{"prompt": onceUpon, "max_tokens": 1}
	post(t, s, "/v1/completions", body)
	s.WaitIdle(t)
	for _, headers := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		if a := send(t, s, "POST", "/flush_cache", nil, headers...); a.status != http.StatusForbidden || errorOf(t, a)["code"] != "origin_not_allowed" {
			t.Errorf("%v: %d %s", headers, a.status, a.body)
		}
	}
	if n := at(t, post(t, s, "/v1/completions", body), "usage", "prompt_tokens_details", "cached_tokens"); n == 0.0 {
		t.Error("the cache is empty")
	}
}

// A preflight of an allowed origin is answered, one of another is refused.
func TestPreflightsOfOtherSites(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{CORSOrigins: []string{"https://chat.example"}}})
	for origin, want := range map[string]int{"https://chat.example": 204, "https://evil.example": 403} {
		a := send(t, s, "OPTIONS", "/v1/chat/completions", nil, "Origin", origin, "Sec-Fetch-Site", "cross-site", "Access-Control-Request-Method", "POST")
		if a.status != want || (a.header.Get("Access-Control-Allow-Origin") != "") != (want == 204) {
			t.Errorf("%s: %d %v", origin, a.status, a.header)
		}
	}
}
