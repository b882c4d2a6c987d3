package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-engine/troupe/lab/bench"
)

// server streams the requested number of tokens; every third brings no text.
type server struct {
	prompts atomic.Int32
	end     int // tokens after which an answer ends; 0: as requested
	status  int
	block   bool // answers until the client goes
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt    []int32 `json:"prompt"`
		MaxTokens int     `json:"max_tokens"`
		Stream    bool    `json:"stream"`
		IgnoreEOS bool    `json:"ignore_eos"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/completions" || !q.Stream || !q.IgnoreEOS {
		http.Error(w, fmt.Sprint("not what was expected: ", err), http.StatusBadRequest)
		return
	}
	s.prompts.Add(int32(len(q.Prompt)))
	if s.status != 0 {
		http.Error(w, "no more", s.status)
		return
	}
	if s.end > 0 {
		q.MaxTokens = s.end
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range q.MaxTokens {
		text := "x"
		if i%3 == 2 {
			text = ""
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"text\":%q}]}\n\n", text)
		w.(http.Flusher).Flush()
	}
	if s.block {
		<-r.Context().Done()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func clients(t *testing.T, s *server, fatal <-chan error) *Clients {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	c, err := New(Options{URL: h.URL, Fatal: fatal, Base: func(sequence, tokens int) []int32 { return make([]int32, tokens) }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientsCountTokensWithoutText(t *testing.T) {
	s := &server{}
	c := clients(t, s, nil)
	test := bench.Test{Generate: 30, Batch: 1, Depth: 5}
	if err := c.Prepare(t.Context(), test); err != nil || s.prompts.Load() != 2*5 {
		t.Fatalf("prepared with %d tokens: %v", s.prompts.Load(), err)
	}
	got, err := c.Once(t.Context(), test, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Of 38 tokens 26 have text, one of which starts the time. All can come at
	// once, so the time can be 0.
	if want := 37; got.Tokens != want || got.Steps != want || got.Took < 0 {
		t.Errorf("%+v, want %d tokens", got, want)
	}
	if want := int64(37*6 + 37*36/2); got.Positions != want { // the first reads 5 and its own
		t.Errorf("%d positions were read, want %d", got.Positions, want)
	}
}

func TestClientsFail(t *testing.T) {
	failed, cancelled := make(chan error, 1), func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}()
	failed <- errors.New("the engine gave up")
	for want, c := range map[string]struct {
		server *server
		test   bench.Test
		ctx    context.Context
		fatal  chan error
	}{
		"use --prompt 0":                   {server: &server{}, test: bench.Test{Prompt: 3, Batch: 1}},
		"503 Service Unavailable":          {server: &server{status: http.StatusServiceUnavailable}, test: bench.Test{Generate: 3, Batch: 2}},
		"did not all run at the same time": {server: &server{end: 1}, test: bench.Test{Generate: 3, Batch: 1}},
		"the engine gave up":               {server: &server{block: true}, test: bench.Test{Generate: 3, Batch: 2}, fatal: failed},
		context.Canceled.Error():           {server: &server{block: true}, test: bench.Test{Generate: 3, Batch: 2}, ctx: cancelled},
		"a client failed: HTTP 503":        {server: &server{status: http.StatusServiceUnavailable}, test: bench.Test{Generate: 3, Batch: 1, Depth: 1}},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		of := clients(t, c.server, c.fatal)
		err := of.Prepare(ctx, c.test)
		if err == nil {
			_, err = of.Once(ctx, c.test, 0)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}
