package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// The error at a bound says when to try again, and the open request is not affected.
func TestBusy(t *testing.T) {
	for name, opt := range map[string]testserver.Options{
		"open requests": {MaxOpen: 2},
		"queued tokens": {MaxQueuedTokens: 50},
	} {
		t.Run(name, func(t *testing.T) {
			s := testserver.Start(t, opt)
			long := strings.Repeat("word ", 40)
			first := held(t, s, "/v1/completions", object{"prompt": list{long, long}, "max_tokens": 3})
			for _, stream := range []bool{false, true} {
				a := send(t, s, "POST", "/v1/completions", object{"prompt": onceUpon, "stream": stream})
				seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
				if e := errorOf(t, a); a.status != http.StatusTooManyRequests || e["type"] != "rate_limit_error" || e["code"] != "rate_limit_exceeded" || err != nil || seconds < 1 {
					t.Errorf("%d %v, Retry-After %q", a.status, e, a.header.Get("Retry-After"))
				}
			}
			s.Resume()
			if a := <-first; a.status != http.StatusOK {
				t.Errorf("the open request got %d: %s", a.status, a.body)
			}
			s.WaitIdle(t)
			post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 1})
		})
	}
}

func TestDuplicateRequestID(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	first := held(t, s, "/generate", object{"text": onceUpon, "rid": "mine", "sampling_params": object{"max_new_tokens": 3}})
	for path, body := range map[string]object{"/generate": {"text": "a"}, "/v1/completions": {"prompt": "a"}, "/v1/chat/completions": {"messages": hello}} {
		a := send(t, s, "POST", path, with(body, object{"rid": "mine"}))
		if e := errorOf(t, a); a.status != http.StatusBadRequest || e["code"] != "duplicate_request_id" || e["param"] != "rid" {
			t.Errorf("%s: %d %v", path, a.status, e)
		}
	}
	s.Resume()
	if a := <-first; a.status != http.StatusOK {
		t.Errorf("the open request got %d: %s", a.status, a.body)
	}
	post(t, s, "/generate", object{"text": "a", "rid": "mine", "sampling_params": object{"max_new_tokens": 1}}) // free again
}

func TestAbortRequest(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	limit := object{"max_new_tokens": 100}
	native := held(t, s, "/generate", object{"text": onceUpon, "rid": "one", "sampling_params": limit})
	want(t, post(t, s, "/abort_request", object{"rid": "other"}), true, "success")
	want(t, post(t, s, "/abort_request", object{"rid": "one"}), true, "success")
	a := <-native
	want(t, a.object(t), "abort", "meta_info", "finish_reason", "type")
	s.Resume()
	s.WaitIdle(t)

	chat := held(t, s, "/v1/chat/completions", object{"messages": hello, "stream": true})
	post(t, s, "/abort_request", object{"abort_all": true})
	a = <-chat // nothing was streamed yet, so it has its own status
	if e := errorOf(t, a); a.status != http.StatusBadRequest || e["code"] != "request_aborted" {
		t.Errorf("%d %v", a.status, e)
	}
	s.Resume()
	s.WaitIdle(t)
}

// An error in the middle of a stream is an event without an end mark after it.
func TestAbortInTheMiddleOfAStream(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	resp := heldStream(t, s, "/v1/chat/completions", object{"messages": hello, "stream": true, "rid": "mine"})
	defer resp.Body.Close()
	reader := bufio.NewReader(resp.Body)
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	post(t, s, "/abort_request", object{"rid": "mine"})
	data := readEvents(t, reader)
	var last object
	if err := json.Unmarshal([]byte(data[len(data)-1]), &last); err != nil {
		t.Fatal(err)
	}
	want(t, last, "request_aborted", "error", "code")
	s.Resume()
	s.WaitIdle(t)
}

func TestFlushIsRefusedWhileRequestsRun(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	resp := heldStream(t, s, "/v1/completions", object{"prompt": onceUpon, "stream": true})
	defer resp.Body.Close()
	a := send(t, s, "POST", "/flush_cache", nil)
	if e := errorOf(t, a); a.status != http.StatusBadRequest || !strings.Contains(e["message"].(string), "not flushed") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// While it drains, a server refuses new requests and finishes the open ones.
func TestDraining(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	first := held(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 5})
	s.HTTP.Drain()
	drained := make(chan error, 1)
	go func() { drained <- s.Engine.Drain(t.Context()) }()
	for _, path := range []string{"/readyz", "/health"} {
		if a := send(t, s, "GET", path, nil); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Errorf("%s returns %d", path, a.status)
		}
	}
	if a := send(t, s, "GET", "/livez", nil); a.status != http.StatusOK {
		t.Errorf("/livez returns %d", a.status)
	}
	for range 1000 { // until intake has got the word
		a := send(t, s, "POST", "/abort_request", object{"rid": "nobody"})
		if a.status != http.StatusOK {
			t.Fatal(a.status)
		}
		if a = send(t, s, "POST", "/v1/completions", object{"prompt": "a", "max_tokens": 1, "stream": true, "rid": ""}); a.status == http.StatusServiceUnavailable {
			if e := errorOf(t, a); e["code"] != "shutting_down" || a.header.Get("Retry-After") == "" {
				t.Errorf("%v, Retry-After %q", e, a.header.Get("Retry-After"))
			}
			break
		}
	}
	s.Resume()
	if a := <-first; a.status != http.StatusOK {
		t.Errorf("the open request got %d: %s", a.status, a.body)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// A client that disconnects in any phase leaves nothing behind.
func TestClientsThatLeave(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 4096, Pages: 4096, StepTime: time.Millisecond})
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/generate"} {
		for _, stream := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			body := `{"messages": [{"role": "user", "content": "hi"}], "n": 2, "stream": ` + strconv.FormatBool(stream) + `}`
			switch path {
			case "/v1/completions":
				body = `{"prompt": ["a", "b"], "stream": ` + strconv.FormatBool(stream) + `}`
			case "/generate":
				body = `{"text": "a", "stream": ` + strconv.FormatBool(stream) + `}`
			}
			req, err := http.NewRequestWithContext(ctx, "POST", s.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			steps := s.Steps()
			left := make(chan error, 1)
			go func() {
				resp, err := http.DefaultClient.Do(req)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				left <- err
			}()
			s.WaitStep(t, steps+3)
			cancel()
			if err := <-left; err == nil {
				t.Errorf("%s, stream %v: the answer was whole", path, stream)
			}
			s.WaitIdle(t)
		}
	}
	waitLog(t, s, `"status":499`)
}

// dial sends a request on its own connection. The caller may read the answer.
func dial(t *testing.T, s *testserver.Server, path, body string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	tcp := conn.(*net.TCPConn)
	tcp.SetReadBuffer(64 << 10) // little room, so that a reader that stops is noticed soon
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	return tcp
}

// bigStream is a request whose stream is larger than what sockets hold: every
// event of /generate has the whole answer so far.
const bigStream = `{"text": "Once", "sampling_params": {"n": 2, "seed": 1}, "stream": true}`

// A client that does not read is dropped after the write stall; the others go
// on, and what it held is free.
func TestWriteStall(t *testing.T) {
	// An event for each token, since the device is slower than the handler: far
	// more than the sockets hold.
	s := testserver.Start(t, testserver.Options{Context: 1000, StepTime: time.Millisecond, SocketBuffer: 4 << 10,
		HTTP: httpapi.Options{WriteStall: 200 * time.Millisecond}})
	dial(t, s, "/generate", bigStream)
	s.WaitStep(t, 3)
	for range 5 {
		post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 5})
	}
	waitLog(t, s, "reads too slowly")
	s.WaitIdle(t)
}

// A slow reader's output waits in intake's table and arrives whole.
func TestSlowReader(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 1000})
	conn := dial(t, s, "/generate", bigStream)
	s.WaitStep(t, 1)
	s.WaitIdle(t) // the engine is through, long before the reader
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil {
		t.Fatal(err)
	}
	data := readEvents(t, resp.Body)
	last := map[float64]any{}
	for _, one := range data[:len(data)-1] {
		var event object
		if err := json.Unmarshal([]byte(one), &event); err != nil {
			t.Fatal(err)
		}
		last[event["index"].(float64)] = event["output_ids"]
	}
	if data[len(data)-1] != "[DONE]" {
		t.Errorf("the stream ends with %q", data[len(data)-1])
	}
	for choice := range 2 {
		p := params(s, s.Context, 1)
		p.Choice = uint32(choice)
		_, ids := s.Expected(encode("Once"), p)
		want(t, last[float64(choice)], ids)
	}
}

// waitLog waits until the log has a text.
func waitLog(t *testing.T, s *testserver.Server, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if strings.Contains(s.Logs(), text) {
			return
		}
		s.Audit(t) // a round trip through the engine, for a pause
	}
	t.Errorf("the log does not say %q", text)
}

func TestManyConcurrentRequests(t *testing.T) {
	s := testserver.Start(t, testserver.Options{EOSChance: .02, MaxRunning: 64, Log: 1})
	client := testserver.Client(t)
	var wait sync.WaitGroup
	limit := make(chan struct{}, 500) // connections; the rest queue here
	for i := range 1000 {
		wait.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			body := fmt.Sprintf(`{"prompt": "Once upon %d", "max_tokens": 20, "seed": %d, "stream": %v}`, i%50, i, i%2 == 0)
			resp, err := client.Post(s.URL+"/v1/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var text string
			want, _ := s.Expected(encode(fmt.Sprintf("Once upon %d", i%50)), params(s, 20, uint64(i)))
			if i%2 == 0 {
				data := readEvents(t, resp.Body)
				for _, one := range data[:len(data)-1] {
					var chunk struct{ Choices []struct{ Text string } }
					json.Unmarshal([]byte(one), &chunk)
					text += chunk.Choices[0].Text
				}
			} else {
				var whole struct{ Choices []struct{ Text string } }
				json.NewDecoder(resp.Body).Decode(&whole)
				text = whole.Choices[0].Text
			}
			if resp.StatusCode != http.StatusOK || text != want {
				t.Errorf("request %d: %d %q, want %q", i, resp.StatusCode, text, want)
			}
		})
	}
	wait.Wait()
	s.WaitIdle(t)
}
