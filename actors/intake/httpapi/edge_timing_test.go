package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// outputs is an engine that answers every call with n outputs of one token each, so
// that a benchmark measures only the edge.
type outputs int

// Ready implements httpapi.Engine.
func (outputs) Ready() bool { return true }

// Send implements httpapi.Engine.
func (n outputs) Send(msg messages.ToIntake) {
	m, ok := msg.(*messages.SubmitRequests)
	if !ok {
		return
	}
	go func() {
		m.Events <- &messages.CallAccepted{Call: m.Call}
		for i := range int(n) {
			out := &messages.CallOutput{Call: m.Call, Text: " word", Tokens: []messages.OutputToken{{Token: 7, TextOffset: 5 * i}}}
			if i == int(n)-1 {
				out.Finish = &messages.Finish{Reason: messages.FinishLength, MatchedToken: -1}
			}
			m.Events <- out
		}
	}()
}

// discard is a client that reads everything at once.
type discard struct {
	header http.Header
	events int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Flush()              {}
func (d *discard) Write(p []byte) (int, error) {
	d.events += bytes.Count(p, []byte("\n\n"))
	return len(p), nil
}

// The adapter's own cost of a streamed token: JSON, framing and the channel,
// without intake and without sockets.
func BenchmarkStreamedToken(b *testing.B) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"messages": [{"role": "user", "content": "hi"}], "stream": true}`,
		"/v1/completions":      `{"prompt": "hi", "stream": true}`,
	} {
		b.Run(path[4:], func(b *testing.B) {
			s := testserver.Start(b, testserver.Options{Log: zerolog.Disabled})
			api := httpapi.New(httpapi.Deps{Models: httpapi.Serving(&httpapi.Served{Model: s.Model, Engine: outputs(b.N)}), Log: zerolog.Nop(), Seed: func() uint64 { return 1 }, Now: time.Now})
			req, err := http.NewRequest("POST", path, strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			w := &discard{header: http.Header{}}
			b.ReportAllocs()
			b.ResetTimer()
			api.Handler().ServeHTTP(w, req)
			if w.events < b.N {
				b.Fatalf("%d events for %d tokens", w.events, b.N)
			}
		})
	}
}

// The whole path of a token with 64 streams at once: planning, fake device, intake,
// fan-out over sockets, and reading clients. One operation is 200 tokens of each
// stream; ns/token is the time over all of them.
func BenchmarkTokensOver64Streams(b *testing.B) {
	const streams, perStream = 64, 200
	s := testserver.Start(b, testserver.Options{Context: 256, Pages: 8192, MaxRunning: streams, Log: zerolog.Disabled,
		Change: func(spec *engine.Spec) { spec.Batch.AuditEveryStep = false }})
	client := testserver.Client(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		var wait sync.WaitGroup
		for i := range streams {
			wait.Go(func() {
				body := fmt.Sprintf(`{"prompt": "Once %d", "max_tokens": %d, "stream": true}`, i, perStream)
				resp, err := client.Post(s.URL+"/v1/completions", "application/json", strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Error(err)
				}
				resp.Body.Close()
			})
		}
		wait.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*streams*perStream), "ns/token")
}
