package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// socket opens a connection and sends bytes unchanged.
func socket(t testing.TB, s *testserver.Server, sent string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	return conn
}

// head is a request line with headers, for a body of JSON.
func head(path string, headers ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n"
}

// wire reads answers off a connection until it is closed.
func wire(t testing.TB, conn net.Conn) []answer {
	t.Helper()
	var all []answer
	for r := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			if err != io.EOF && err != io.ErrUnexpectedEOF && !strings.Contains(err.Error(), "reset") {
				t.Errorf("after %d answers: %v", len(all), err)
			}
			return all
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.Close { // the header is taken out
			resp.Header.Set("Connection", "close")
		}
		all = append(all, answer{resp.StatusCode, resp.Header, body})
	}
}

func TestBrokenChunksAreTheClientsFault(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for name, chunks := range map[string]string{
		"size that is not hexadecimal": "zz\r\n{}\r\n0\r\n\r\n",
		"size too large":               "fffffffffffffffff\r\n",
		"no line end behind a chunk":   "2\r\n{}xx0\r\n\r\n",
		"much besides data":            "2;" + strings.Repeat("x", 20000) + "\r\n{}\r\n0\r\n\r\n",
	} {
		all := wire(t, socket(t, s, head("/v1/completions", "Transfer-Encoding: chunked")+chunks))
		if len(all) != 1 || all[0].status != http.StatusBadRequest {
			t.Errorf("%s: %v", name, all)
			continue
		}
		if e := errorOf(t, all[0]); !strings.Contains(e["message"].(string), "chunked") {
			t.Errorf("%s: %v", name, e)
		}
	}
	if logs := s.Logs(); strings.Contains(logs, `"status":499`) || !strings.Contains(logs, `"status":400`) {
		t.Errorf("the log has another status: %s", logs)
	}
}

// Nothing is read after a request with both lengths: front servers may have read it
// differently.
func TestBothLengthsCloseTheConnection(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	const body = `{"prompt": "a", "max_tokens": 1}`
	smuggled := "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	for name, headers := range map[string][]string{
		"length first": {"Content-Length: 5", "Transfer-Encoding: chunked"},
		"length last":  {"Transfer-Encoding: chunked", fmt.Sprint("Content-Length: ", len(chunk))},
	} {
		all := wire(t, socket(t, s, head("/v1/completions", headers...)+chunk+smuggled))
		if len(all) != 1 || all[0].status != http.StatusOK || all[0].header.Get("Connection") != "close" {
			t.Errorf("%s: %v", name, all)
		}
	}
	// With one length the next request is answered.
	close := strings.Replace(smuggled, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
	if all := wire(t, socket(t, s, head("/v1/completions", fmt.Sprint("Content-Length: ", len(body)))+body+close)); len(all) != 2 {
		t.Errorf("%v", all)
	}
}

func TestAnnouncedLengthsAreRefusedAtOnce(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{MaxBodyBytes: 1000}})
	conn := socket(t, s, head("/v1/completions", "Content-Length: 1001")) // and no body
	if all := wire(t, conn); len(all) != 1 || all[0].status != http.StatusRequestEntityTooLarge {
		t.Errorf("%v", all)
	}
	chunk := "400\r\n" + strings.Repeat(" ", 1024) + "\r\n"
	if all := wire(t, socket(t, s, head("/v1/completions", "Transfer-Encoding: chunked")+chunk)); len(all) != 1 || all[0].status != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: %v", all)
	}
}

// A body that stops arriving is refused.
func TestSlowBodiesEnd(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{BodyGrace: 50 * time.Millisecond, BodyRate: 1 << 30}})
	all := wire(t, socket(t, s, head("/v1/completions", "Content-Length: 100")+`{"prompt"`))
	if len(all) != 1 || all[0].status != http.StatusRequestTimeout || !strings.Contains(string(all[0].body), "the body arrives too slowly: only 9 bytes in ") {
		t.Errorf("%v", all)
	}
}

// Connections that announce large bodies and send very little hold what they sent,
// and do not delay other clients.
func TestHostagesHoldNobodyUp(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Log: zerolog.Disabled})
	for range 500 {
		socket(t, s, head("/v1/chat/completions", "Content-Length: 60000000")+"{")
	}
	const clients, each = 4, 25
	took := make(chan time.Duration, clients*each)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range each {
				start := time.Now()
				post(t, s, "/v1/chat/completions", object{"messages": hello, "max_tokens": 2})
				took <- time.Since(start)
			}
		})
	}
	wait.Wait()
	close(took)
	var all []time.Duration
	for d := range took {
		all = append(all, d)
	}
	slices.Sort(all)
	t.Logf("p50 %s, p99 %s", all[len(all)/2], all[len(all)*99/100-1])
}

// A large body waits for other large ones, not a small one for them.
func TestSmallBodiesHaveTheirOwnPlace(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{MaxBodyBytes: 4 << 20, MaxBodiesBytes: 1 << 20}})
	// The budget is full of one large body that never ends.
	conn := socket(t, s, head("/tokenize", "Content-Length: 4000000")+strings.Repeat(" ", 300<<10))
	defer conn.Close()
	large := `{"prompt": "` + strings.Repeat("x", 600<<10) + `"}`
	for send(t, s, "POST", "/tokenize", large).status != http.StatusTooManyRequests {
		// until what the first one sent has arrived
	}
	if a := send(t, s, "POST", "/tokenize", object{"prompt": "small"}); a.status != http.StatusOK {
		t.Errorf("a small body: %d %s", a.status, a.body)
	}
	a := send(t, s, "POST", "/tokenize", large)
	if e := errorOf(t, a); e["code"] != "rate_limit_exceeded" || a.header.Get("Retry-After") == "" {
		t.Errorf("%v %v", e, a.header)
	}
}

// A client that writes its whole body before it reads still gets the refusal.
func TestRefusalsReachClientsThatStillSend(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{MaxBodyBytes: 16 << 20, MaxBodiesBytes: 1 << 20, APIKeys: []string{"k"}}})
	body := strings.Repeat(" ", 16<<20)
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"no room":   {[]string{"Authorization: Bearer k", fmt.Sprint("Content-Length: ", len(body))}, http.StatusTooManyRequests},
		"too large": {[]string{"Authorization: Bearer k", fmt.Sprint("Content-Length: ", len(body)+1)}, http.StatusRequestEntityTooLarge},
		"no key":    {[]string{fmt.Sprint("Content-Length: ", len(body))}, http.StatusUnauthorized},
	} {
		conn := socket(t, s, head("/v1/completions", c.headers...))
		if _, err := io.WriteString(conn, body); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if all := wire(t, conn); len(all) != 1 || all[0].status != c.status {
			t.Errorf("%s: %v", name, all)
		}
	}
}
