package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

// memory answers without a network, one event per Read, as tokens arrive.
type memory struct{ events int }

type eventBody struct {
	event []byte
	left  int
}

func (b *eventBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	return copy(p, b.event), nil
}

func (b *eventBody) Close() error { return nil }

const oneToken = `data: {"id":"cmpl-0123456789abcdef","object":"text_completion","created":1760000000,"model":"model","choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":null}]}` + "\n\n"

func (m memory) RoundTrip(*http.Request) (*http.Response, error) {
	done := strings.NewReader("data: [DONE]\n\n")
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(io.MultiReader(&eventBody{[]byte(oneToken), m.events}, done))}, nil
}

func TestATokenAllocatesNothing(t *testing.T) {
	allocations := func(tokens int) float64 {
		client, err := NewClient(ClientOptions{Server: serverapi.Server{Base: mustURL(t, "http://x"), Transport: memory{tokens}}})
		if err != nil {
			t.Fatal(err)
		}
		w := newCaller(&Live{})
		return testing.AllocsPerRun(10, func() {
			r := Record{}
			client.ask(context.Background(), w, &wire.Body{Text: "hi"}, &r, time.Now())
			if r.Chunks != tokens || r.Outcome != Finished || len(r.Gaps) != tokens-1 {
				t.Fatalf("%d tokens: %+v", tokens, r.Outcome)
			}
		})
	}
	few, many := allocations(10), allocations(5000)
	if many > few+1 {
		t.Errorf("%v allocations for an answer of 10 tokens, %v for one of 5000", few, many)
	}
}

// The client's own work per token, without a network.
func BenchmarkClientToken(b *testing.B) {
	const tokens = 1000
	client, err := NewClient(ClientOptions{Server: serverapi.Server{Base: mustURL(&testing.T{}, "http://x"), Transport: memory{tokens}}})
	if err != nil {
		b.Fatal(err)
	}
	w := newCaller(&Live{})
	b.ReportAllocs()
	for b.Loop() {
		r := Record{}
		client.ask(b.Context(), w, &wire.Body{Text: "hi"}, &r, time.Now())
		if r.Chunks != tokens {
			b.Fatal(r.Message)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tokens), "ns/token")
}

// Processor time per token over loopback, server and client in one process,
// compared with a client that only reads: the difference is the cost of measuring.
func BenchmarkLoopbackToken(b *testing.B) {
	const tokens = 1000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		ctl := http.NewResponseController(w)
		for range tokens {
			_, _ = io.WriteString(w, oneToken)
			_ = ctl.Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer server.Close()
	client, err := NewClient(ClientOptions{Server: serverapi.Server{Base: mustURL(&testing.T{}, server.URL)}})
	if err != nil {
		b.Fatal(err)
	}
	w := newCaller(&Live{})
	for name, ask := range map[string]func() error{
		"measured": func() error {
			r := Record{}
			client.ask(b.Context(), w, &wire.Body{Text: "hi"}, &r, time.Now())
			if r.Chunks != tokens {
				return fmt.Errorf("%d tokens: %s", r.Chunks, r.Message)
			}
			return nil
		},
		"only read": func() error {
			answer, err := client.http.Post(server.URL, "application/json", bytes.NewReader(w.body))
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			for err == nil {
				_, err = answer.Body.Read(w.buf)
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			before := measure.CPUTime()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((measure.CPUTime()-before).Nanoseconds())/float64(b.N*tokens), "cpu-ns/token")
		})
	}
}
