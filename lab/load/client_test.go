package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

// one sends a single request to a server.
func one(t *testing.T, h http.HandlerFunc, change func(*ClientOptions)) (r Record, answer string) {
	t.Helper()
	virtual(t, h, change, func(t *testing.T, o ClientOptions) {
		client, err := NewClient(o)
		if err != nil {
			t.Fatal(err)
		}
		w := newCaller(&Live{})
		r = Record{Wanted: 5}
		client.ask(t.Context(), w, &wire.Body{Text: "hi", MaxTokens: 4}, &r, time.Now())
		answer = string(w.text)
	})
	return r, answer
}

func text(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestFailuresHaveKinds(t *testing.T) {
	const events = "text/event-stream"
	stall := func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n")
		<-r.Context().Done()
	}
	limited := func(o *ClientOptions) { o.Timeout = 3 * time.Second }
	for _, c := range []struct {
		name          string
		h             http.HandlerFunc
		change        func(*ClientOptions)
		kind, message string
	}{
		{"refusal", text(400, "application/json", `{"error":{"message":"too long","type":"invalid_request_error"}}`), nil, "HTTP 400 Bad Request", "too long"},
		{"refusal by a proxy", text(502, "text/html", "<h1>Bad gateway</h1>"), nil, "HTTP 502 Bad Gateway", "<h1>Bad gateway</h1>"},
		{"refusal of another form", text(422, "application/json", `{"detail":"no such field"}`), nil, "HTTP 422 Unprocessable Entity", "no such field"},
		{"429", text(429, "application/json", `{"error":{"message":"busy"}}`), nil, "HTTP 429 Too Many Requests", "busy"},
		{"error event", text(200, events, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"error\":{\"message\":\"out of memory\"}}\n\ndata: [DONE]\n\n"), nil, "error in the response", "out of memory"},
		{"named error event", text(200, events, "event: error\ndata: it broke\n\n"), nil, "error in the response", "it broke"},
		{"error with 200", text(200, "application/json", `{"object":"error","message":"no"}`), nil, "error in the response", "no"},
		{"broken off", text(200, events, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n"), nil, "connection broken", "incomplete"},
		{"nothing", text(200, events, ""), nil, "connection broken", "incomplete"},
		{"garbage", text(200, events, "data: {\"choices\":[{\"te\n\n"), nil, "invalid response", "cannot be read"},
		{"a page", text(200, "text/html", "<html>"), nil, "invalid response", "cannot be read"},
		{"no choice", text(200, "application/json", `{}`), nil, "invalid response", "missing or empty"},
		{"stall", stall, limited, "timeout", "longer than --request-timeout"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			send(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n")
			conn, _, _ := http.NewResponseController(w).Hijack()
			conn.Close()
		}, nil, "connection broken", "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := one(t, c.h, c.change)
			if r.Outcome != Failed || r.Failure != c.kind || !strings.Contains(r.Message, c.message) {
				t.Errorf("%v, %q: %q; want %q: %q", r.Outcome, r.Failure, r.Message, c.kind, c.message)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	client, err := NewClient(ClientOptions{Server: serverapi.Server{Base: mustURL(t, "http://"+l.Addr().String())}})
	if err != nil {
		t.Fatal(err)
	}
	r := Record{}
	client.ask(t.Context(), newCaller(&Live{}), &wire.Body{Text: "hi"}, &r, time.Now())
	if r.Outcome != Failed || r.Failure != "connection refused" {
		t.Errorf("%+v", r)
	}
}

func TestAnswers(t *testing.T) {
	const events = "text/event-stream; charset=utf-8"
	for _, c := range []struct {
		name    string
		h       http.HandlerFunc
		answer  string
		want    Record
		without bool // TTFT
	}{
		{"no usage", text(200, events, ": hello\n\ndata: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\"}]}\n\ndata: [DONE]\n\n"), "ab", Record{Chunks: 2, Input: 5, Output: 2}, false},
		{"no end mark", text(200, events, "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}"), "a", Record{Chunks: 1, Input: 5, Output: 1, Finish: "stop"}, false},
		{"role first", text(200, events, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"),
			"a", Record{Chunks: 1, Input: 5, Output: 1, Finish: "length"}, false},
		{"thoughts are output and not repeated", text(200, events, "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"),
			"a", Record{Chunks: 2, Input: 5, Output: 2}, false},
		{"usage in each", text(200, events, "data: {\"choices\":[{\"text\":\"ab\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: {\"choices\":[{\"text\":\"c\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n"),
			"abc", Record{Chunks: 2, Input: 3, Output: 3, Counted: true}, false},
		{"no text", text(200, events, "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n"),
			"", Record{Input: 3, Output: 1, Counted: true, Finish: "stop"}, true},
		{"after the end", text(200, events, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\ndata: nonsense\n\n"), "a", Record{Chunks: 1, Input: 5, Output: 1}, false},
		{"whole", text(200, "application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":8}}`),
			"hi", Record{Chunks: 1, Input: 3, Output: 8, Counted: true, Finish: "stop"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, answer := one(t, c.h, nil)
			_, seen := r.TTFT()
			got := Record{Chunks: r.Chunks, Input: r.Input, Output: r.Output, Counted: r.Counted, Finish: r.Finish}
			if answer != c.answer || r.Outcome != Finished || seen == c.without ||
				got.Chunks != c.want.Chunks || got.Input != c.want.Input || got.Output != c.want.Output || got.Counted != c.want.Counted || got.Finish != c.want.Finish {
				t.Errorf("%q, %+v", answer, r)
			}
		})
	}
}

func TestRetryAfter429(t *testing.T) {
	for _, c := range []struct {
		header string
		wait   time.Duration
	}{{"2", 2 * time.Second}, {"", time.Second}, {"soon", time.Second}, {"date", 3 * time.Second}} {
		calls := 0
		h := func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls > 2 {
				pace(100*msec, 20*msec)(w, r)
				return
			}
			header := c.header
			if header == "date" {
				header = time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)
			}
			w.Header().Set("Retry-After", header)
			http.Error(w, "busy", http.StatusTooManyRequests)
		}
		r, _ := one(t, h, func(o *ClientOptions) { o.Retry = true })
		if ttft, _ := r.TTFT(); r.Outcome != Finished || r.Retries != 2 || ttft != 2*c.wait+100*msec {
			t.Errorf("Retry-After %q: TTFT %v after %d retries, %v %s", c.header, ttft, r.Retries, r.Outcome, r.Message)
		}
		calls = -1000
		if r, _ := one(t, h, func(o *ClientOptions) { o.Retry, o.Timeout = true, 5*time.Second }); r.Failure != "timeout" || r.E2E() != 5*time.Second {
			t.Errorf("endless 429: %q after %v", r.Failure, r.E2E())
		}
	}
	if got := retryAfter("999999999", time.Now()); got != time.Hour {
		t.Errorf("a wait of years became %v", got)
	}
}

func TestAServerThatKeepsTheStreamOpen(t *testing.T) {
	r, _ := one(t, func(w http.ResponseWriter, r *http.Request) {
		pace(100*msec, 20*msec)(w, r)
		<-r.Context().Done()
	}, nil)
	if r.Outcome != Finished || r.E2E() != 160*msec {
		t.Errorf("%v after %v: %s", r.Outcome, r.E2E(), r.Message)
	}
}

func TestConnectionsLiveOn(t *testing.T) {
	var dials, strangers atomic.Int64
	server := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			strangers.Add(1)
		}
		pace(msec, 0)(w, r)
	}
	virtual(t, server, func(o *ClientOptions) {
		o.Key = "secret"
		transport := o.Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return dial(ctx, network, address)
		}
	}, func(t *testing.T, o ClientOptions) {
		run(t, t.Context(), o, &Load{Source: prompts(20), Concurrency: 2})
	})
	if dials.Load() != 2 || strangers.Load() != 0 {
		t.Errorf("%d connections for 20 requests, 2 at once; %d without their key", dials.Load(), strangers.Load())
	}
}

// A server can close a connection between two requests, while the second one is on
// its way: that is not a fault of the server. On a new connection it is one.
func TestConnectionsThatServersHangUp(t *testing.T) {
	for _, c := range []struct {
		name             string
		hangsUp          int64 // the number of the request that gets no answer
		finished, failed int
		seen             int64
	}{{"an old connection", 2, 3, 0, 4}, {"a new one", 1, 2, 1, 3}} {
		t.Run(c.name, func(t *testing.T) {
			var seen atomic.Int64
			server := func(w http.ResponseWriter, r *http.Request) {
				if seen.Add(1) == c.hangsUp {
					conn, _, _ := http.NewResponseController(w).Hijack()
					conn.Close()
					return
				}
				pace(msec, 0)(w, r)
			}
			virtual(t, server, nil, func(t *testing.T, o ClientOptions) {
				result := run(t, t.Context(), o, &Load{Source: prompts(3), Concurrency: 1})
				count := map[Outcome]int{}
				for _, r := range result.Records {
					count[r.Outcome]++
				}
				if count[Finished] != c.finished || count[Failed] != c.failed || seen.Load() != c.seen {
					t.Errorf("%d requests finished, %d failed, the server saw %d; want %d, %d, %d", count[Finished], count[Failed], seen.Load(), c.finished, c.failed, c.seen)
				}
			})
		})
	}
}
