package httpapi_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// rawly sends bytes on its own connection and reads to its end.
func rawly(t *testing.T, s *testserver.Server, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.URL[strings.Index(s.URL, "//")+2:])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		return "" // refused before it was read
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// The parts around a body: the request line, headers, chunks and trailers, valid
// HTTP or not.
func TestNoTextOfAClientLeaksFromTheWire(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{CORSOrigins: []string{"https://chat.example"}, APIKeys: []string{"key"}}})
	m := &marks{}
	const end = "\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
	const key = "\r\nAuthorization: Bearer key"
	for _, text := range []string{
		"GET /M HTTP/1.1\r\nHost: a" + end, "GET /M/../N HTTP/1.1\r\nHost: a" + end, "GET //M//N HTTP/1.1\r\nHost: a" + end,
		"GET /v1/models/M%22%0a%1b HTTP/1.1\r\nHost: a" + key + end, "GET /livez?M=M HTTP/1.1\r\nHost: a" + end, "GET /livez;M HTTP/1.1\r\nHost: a" + end, "GET http://M/M HTTP/1.1\r\nHost: a" + end,
		"GET /livez?M;N HTTP/1.1\r\nHost: a" + end, "GET /%ZZM HTTP/1.1\r\nHost: a" + end, "GET /M\x85 HTTP/1.1\r\nHost: a" + end, "GET /v1/chat/completions/M HTTP/1.1\r\nHost: a" + end,
		"M /livez HTTP/1.1\r\nHost: a" + end, "M /flush_cache HTTP/1.1\r\nHost: a" + end, "OPTIONS /M HTTP/1.1\r\nHost: a" + end, "CONNECT M:443 HTTP/1.1\r\nHost: a" + end, "M(N) / HTTP/1.1\r\nHost: a" + end,
		"GET /livez M/1.1\r\nHost: a" + end, "GET /livez HTTP/N.1\r\nHost: a" + end, "M\r\n\r\n", "GET /livez HTTP/1.1\r\nM" + end, "GET /livez HTTP/1.1\r\nHost: a\r\nM N: M" + end,
		"GET /livez HTTP/1.1\r\nHost: M\r\nHost: M" + end, "GET /livez HTTP/1.1\r\nHost: M/N" + end, "GET /v1/models HTTP/1.1\r\nHost: M" + end, "GET /livez HTTP/1.1" + end,
		"GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer M" + end, "GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: M N" + end,
		"GET /v1/models HTTP/1.1\r\nHost: a" + key + "\r\nOrigin: http://M\r\nReferer: http://M\r\nUser-Agent: M\r\nCookie: M=N\r\nAccept: M/N\r\nX-Forwarded-For: M\r\nForwarded: for=M\r\nM: M\r\nVia: M" + end,
		"OPTIONS /v1/completions HTTP/1.1\r\nHost: a\r\nOrigin: https://chat.example\r\nAccess-Control-Request-Method: M\r\nAccess-Control-Request-Headers: M" + end,
		"GET /v1/models HTTP/1.1\r\nHost: a" + key + "\r\nX-Request-ID: M N" + end, "GET /v1/models HTTP/1.1\r\nHost: a" + key + "\r\nX-Request-ID: " + strings.Repeat("M-", 40) + end,
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: M/N" + end, "POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json; M" + end,
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json; charset=M\r\nContent-Encoding: M\r\nAccept-Encoding: M\r\nAccept: M" + end,
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nContent-Length: M\r\n\r\n{}", "POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nContent-Length: N\r\n\r\nM",
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nTransfer-Encoding: M\r\n\r\n{}", "POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nExpect: M" + end,
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nM\r\n{}\r\n0\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;M=N\r\n{}M\r\n0\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: M\r\n\r\n2\r\n{}\r\n0\r\nM without a colon\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nM N: M\r\n\r\n",
		"GET /v1/models HTTP/1.1\r\nHost: a" + key + "\r\nUpgrade: M\r\nConnection: M, Upgrade, close\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nM\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: a" + key + "\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"prompt\": \"M", // and away
	} {
		rawly(t, s, m.fill(text, text))
	}
	if answer := rawly(t, s, "GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-ID: chosen-by-me"+end); !strings.Contains(s.Logs(), `"request_id":"chosen-by-me"`) || !strings.Contains(answer, "chosen-by-me") {
		t.Error("a client's X-Request-ID is not in the log, by which requests are found")
	}
	s.WaitIdle(t)
	m.look(t, "the JSON log", s.Logs())
	m.look(t, "the text log", asText(t, s.Logs()))
	m.look(t, "another client's answer", others(t, s.HTTP.Handler()))
	if n := len(logged(t, s, "request")); n < 30 {
		t.Errorf("%d lines of requests", n)
	}
}

// net/http and crypto/tls quote what they cannot read.
func TestNoTextOfAHandshakeLeaks(t *testing.T) {
	cert, key, pool := certificate(t)
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{TLSCert: cert, TLSKey: key}})
	m := &marks{}
	address := strings.TrimPrefix(s.URL, "https://")
	for _, c := range []*tls.Config{
		{RootCAs: pool, NextProtos: []string{m.fill("the protocol", "M")}}, {RootCAs: pool, ServerName: m.fill("the name", "M")},
		{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, RootCAs: pool},
	} {
		if conn, err := tls.Dial("tcp", address, c); err == nil {
			conn.Close()
			t.Errorf("a handshake of %v succeeded", c)
		}
	}
	rawly(t, s, m.fill("no TLS", "GET /M HTTP/1.1\r\nHost: M\r\n\r\n"))
	rawly(t, s, m.fill("no TLS at all", "M M M"))
	const attempts = 5
	for end := time.Now().Add(time.Minute); len(logged(t, s, "a connection failed")) < attempts; {
		if time.Now().After(end) {
			t.Fatalf("%d lines of %d:\n%s", len(logged(t, s, "a connection failed")), attempts, s.Logs())
		}
	}
	m.look(t, "the log", s.Logs())
	for _, cause := range []string{"client requested unsupported application protocols", "client sent an HTTP request to an HTTPS server", "client offered only unsupported versions"} {
		if !strings.Contains(s.Logs(), cause) {
			t.Errorf("the log does not tell %q:\n%s", cause, s.Logs())
		}
	}
}

// The value of a panic may quote a client, and the cause of an epoch's end goes
// to the clients of the suspects.
func TestNoTextOfAClientLeaksFromPanics(t *testing.T) {
	m := &marks{}
	text := m.fill("the value of a panic", "M")
	s := testserver.Start(t, testserver.Options{Change: func(spec *engine.Spec) {
		spec.Intercept = func(role messages.Actor, msg any) {
			switch call := msg.(type) {
			case *messages.SubmitRequests:
				if strings.HasPrefix(call.UserID, "intake") {
					panic("cannot take " + text)
				}
			case *messages.RunBatch:
				for i := range call.Opened {
					if call.Opened[i].Request.Params.Seed == 666 {
						panic(fmt.Errorf("cannot run %s", text))
					}
				}
			}
		}
	}})
	var answers strings.Builder
	for body, status := range map[string]int{
		`{"prompt": "hi", "max_tokens": 2, "rid": "intake"}`: 500, `{"prompt": "hi", "max_tokens": 2, "seed": 666}`: 500, `{"prompt": "hi", "max_tokens": 2}`: 200,
	} {
		a := send(t, s, "POST", "/v1/completions", body)
		if a.status != status {
			t.Errorf("%s returns %d %s", body, a.status, a.body)
		}
		answers.Write(a.body)
	}
	s.WaitIdle(t)
	if len(logged(t, s, "bug in the server: an actor panicked; please report it. Unfinished requests continue after recovery")) < 3 {
		t.Errorf("the log does not tell of the panics:\n%s", s.Logs())
	}
	m.look(t, "the log", s.Logs())
	m.look(t, "an answer", answers.String())

	var log bytes.Buffer
	broken := httpapi.New(httpapi.Deps{Log: zerolog.New(&log), Info: func() map[string]any { panic("cannot tell " + text) }})
	w := httptest.NewRecorder()
	broken.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/server_info", nil))
	if w.Code != 500 || !strings.Contains(log.String(), `"panic":"a value of type string`) {
		t.Errorf("%d %s", w.Code, log.String())
	}
	m.look(t, "the log of a handler's panic", log.String())
	m.look(t, "its answer", w.Body.String())
}
