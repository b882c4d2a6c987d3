package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

// pipes is a network inside a synctest bubble: connections of memory, so that
// all waiting is virtual time.
type pipes struct {
	arrived chan net.Conn
	over    chan struct{}
	once    sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.arrived:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.over) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.arrived <- theirs:
		return ours, nil
	case <-p.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// virtual runs f in a bubble with a client of a server that answers with h.
func virtual(t *testing.T, h http.HandlerFunc, change func(*ClientOptions), f func(t *testing.T, o ClientOptions)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{arrived: make(chan net.Conn), over: make(chan struct{})}
		server := &http.Server{Handler: h}
		go server.Serve(network)
		transport := NewTransport()
		transport.DialContext = network.dial
		base, _ := url.Parse("http://server")
		o := ClientOptions{Server: serverapi.Server{Base: base, Transport: transport}, Frame: wire.FrameOptions{Model: "m", Stream: true, Usage: true}}
		if change != nil {
			change(&o)
		}
		f(t, o)
		transport.CloseIdleConnections()
		server.Close()
		synctest.Wait()
	})
}

// run runs a load of l's settings with a client of o.
func run(t *testing.T, ctx context.Context, o ClientOptions, l *Load) *Result {
	t.Helper()
	client, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	l.Client = client
	result, err := l.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// prompts are n sessions of one turn.
func prompts(n int) *work.Source { return list{left: n}.source() }

// list describes sessions of equal prompts.
type list struct {
	left   int
	turns  int // of each; 0 is one
	system string
	check  func(string) work.Verdict
}

func (l list) source() *work.Source {
	return &work.Source{Description: "a list", Size: l.left, Make: func(int) (*work.Session, error) {
		one := &work.Session{System: l.system, Check: l.check}
		for i := range max(l.turns, 1) {
			one.Turns = append(one.Turns, work.Turn{Text: fmt.Sprintf("question %d", i), Input: 10, MaxTokens: 4})
		}
		return one, nil
	}}
}

// asked is the body that a handler got.
type asked struct {
	Model     string
	Prompt    any
	Messages  []struct{ Role, Content string }
	MaxTokens int `json:"max_tokens"`
	Stream    bool
	IgnoreEOS *bool           `json:"ignore_eos"`
	Options   json.RawMessage `json:"stream_options"`
}

func readBody(r *http.Request) (a asked) {
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(text, &a)
	return a
}

// send writes text as it is, at once.
func send(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// pace is a server: the first token after first, three more every gap.
func pace(first, gap time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := range 4 {
			pause := gap
			if i == 0 {
				pause = first
			}
			if sleep(r.Context(), pause) != nil {
				return
			}
			finish := "null"
			if i == 3 {
				finish = `"length"`
			}
			send(w, fmt.Sprintf("data: {\"choices\":[{\"text\":\" t%d\",\"finish_reason\":%s}]}\n\n", i, finish))
		}
		send(w, `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":3}}}`+"\n\ndata: [DONE]\n\n")
	}
}

const msec = time.Millisecond
