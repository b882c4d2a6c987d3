package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// siege is a server and its clients.
type siege struct {
	t    *testing.T
	node *Node
	url  string
	http *http.Client

	calls []body   // right ones
	texts []string // their answers
	mu    sync.Mutex
	// counts has how often clients did each act.
	counts map[string]int
}

// acts are all kinds of requests of clients.
var acts = []string{"right", "streamed", "left", "slow", "wrong", "flush", "aborted", "audit"}

// lacks reports whether an act has not been done yet.
func (s *siege) lacks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(acts, func(kind string) bool { return s.counts[kind] == 0 })
}

// learn requests the right answers while there is no other client.
func (s *siege) learn() {
	s.t.Helper()
	for i := range 12 {
		call := body{"prompt": strings.Repeat("Once there was a bird. ", i%3) + "The bird", "max_tokens": 5 + 3*i, "temperature": float64(i % 2), "seed": i}
		if i%4 == 0 {
			call["stop"] = "."
		}
		status, text, err := s.post("/v1/completions", call)
		if err != nil || status != http.StatusOK {
			s.t.Fatalf("%d %s %v", status, text, err)
		}
		s.calls, s.texts = append(s.calls, call), append(s.texts, completionText(s.t, text))
	}
}

func completionText(t *testing.T, answer string) string {
	var c struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal([]byte(answer), &c); err != nil || len(c.Choices) != 1 {
		t.Errorf("answer %q: %v", answer, err)
		return ""
	}
	return c.Choices[0].Text
}

func (s *siege) request(ctx context.Context, path string, call any) (*http.Response, error) {
	data, err := json.Marshal(call)
	if raw, ok := call.(string); ok {
		data, err = []byte(raw), nil
	}
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return s.http.Do(r)
}

// post sends a request and reads the whole answer.
func (s *siege) post(path string, call any) (int, string, error) {
	w, err := s.request(context.Background(), path, call)
	if err != nil {
		return 0, "", err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	return w.StatusCode, string(text), err
}

// client does random acts until the end, and on a slow machine until every act has been
// done.
func (s *siege) client(seed uint64, end time.Time) {
	r := rand.New(rand.NewPCG(seed, 64))
	for n := 0; (time.Now().Before(end) || s.lacks()) && !s.t.Failed(); n++ {
		kind, act := s.pick(r)
		if err := act(r, fmt.Sprintf("rid-%d-%d", seed, n)); err != nil {
			s.t.Errorf("client %d, %s: %v", seed, kind, err)
			return
		}
		s.mu.Lock()
		s.counts[kind]++
		s.mu.Unlock()
	}
}

type act func(r *rand.Rand, rid string) error

func (s *siege) pick(r *rand.Rand) (string, act) {
	switch n := r.IntN(100); {
	case n < 30:
		return "right", s.right
	case n < 50:
		return "streamed", func(r *rand.Rand, _ string) error { return s.stream(r, 0) }
	case n < 65:
		return "left", s.leave
	case n < 72:
		return "slow", func(r *rand.Rand, _ string) error { return s.stream(r, 10*time.Millisecond) }
	case n < 85:
		return "wrong", s.wrong
	case n < 94:
		return "aborted", s.abort
	case n < 97:
		return "flush", s.flush
	default:
		return "audit", s.audit
	}
}

func (s *siege) right(r *rand.Rand, _ string) error {
	i := r.IntN(len(s.calls))
	status, text, err := s.post("/v1/completions", s.calls[i])
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("%d %s: %w", status, text, err)
	}
	if got := completionText(s.t, text); got != s.texts[i] {
		return fmt.Errorf("call %d: got %q, want %q", i, got, s.texts[i])
	}
	return nil
}

// streaming is a valid call as a stream.
func (s *siege) streaming(i int, more body) body {
	call := body{"stream": true}
	for _, part := range []body{s.calls[i], more} {
		for k, v := range part {
			call[k] = v
		}
	}
	return call
}

// events reads a stream's events and calls each until it returns false.
func events(w *http.Response, each func(data string) bool) error {
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !each(data) {
			return nil
		}
	}
	return errors.New("the stream has no end")
}

// stream reads a stream to its end, with a pause before each event.
func (s *siege) stream(r *rand.Rand, pause time.Duration) error {
	i := r.IntN(len(s.calls))
	w, err := s.request(context.Background(), "/v1/completions", s.streaming(i, nil))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", w.StatusCode)
	}
	text := ""
	err = events(w, func(data string) bool {
		if data == "[DONE]" {
			return false
		}
		text += completionText(s.t, data)
		if pause > 0 {
			<-time.After(pause)
		}
		return true
	})
	if err == nil && text != s.texts[i] {
		return fmt.Errorf("call %d: streamed %q, want %q", i, text, s.texts[i])
	}
	return err
}

// leave disconnects before or during the answer.
func (s *siege) leave(r *rand.Rand, _ string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(60))*time.Millisecond)
	defer cancel()
	w, err := s.request(ctx, "/v1/completions", s.streaming(r.IntN(len(s.calls)), body{"max_tokens": 400, "ignore_eos": true, "n": 1 + r.IntN(3)}))
	if err != nil {
		return nil // left before the answer began
	}
	defer w.Body.Close()
	left := r.IntN(8)
	_ = events(w, func(string) bool { left--; return left > 0 })
	return nil
}

// wrong sends an invalid request.
func (s *siege) wrong(r *rand.Rand, _ string) error {
	calls := []any{
		"{", `{"prompt": 7}`, `[]`, "",
		body{"prompt": ""}, body{"prompt": "x", "temperature": -1}, body{"prompt": "x", "max_tokens": -4}, body{"prompt": "x", "n": 100000},
		body{"prompt": []int{999999}}, body{"prompt": strings.Repeat("word ", 3000)}, body{"prompt": "x", "stop": 5}, body{"prompt": "x", "logit_bias": body{"a": 1}},
	}
	call := calls[r.IntN(len(calls))]
	status, text, err := s.post("/v1/completions", call)
	if err != nil {
		return err
	}
	if status != http.StatusBadRequest || !strings.Contains(text, `"message"`) {
		return fmt.Errorf("%v got %d: %s", call, status, text)
	}
	return nil
}

// abort aborts its own request.
func (s *siege) abort(r *rand.Rand, rid string) error {
	w, err := s.request(context.Background(), "/generate", body{"text": "The bird", "stream": true, "rid": rid, "sampling_params": body{"max_new_tokens": 300, "ignore_eos": true}})
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", w.StatusCode)
	}
	seen, last := 0, ""
	err = events(w, func(data string) bool {
		if data == "[DONE]" {
			return false
		}
		if seen++; seen == 3 {
			if status, text, err := s.post("/abort_request", body{"rid": rid}); err != nil || status != http.StatusOK {
				s.t.Errorf("abort: %d %s %v", status, text, err)
			}
		}
		last = data
		return true
	})
	if err == nil && !strings.Contains(last, `"abort"`) && !strings.Contains(last, `"length"`) {
		return fmt.Errorf("an aborted stream ends with %s", last)
	}
	return err
}

// flush flushes the cache or checks the refusal.
func (s *siege) flush(*rand.Rand, string) error {
	status, text, err := s.post("/flush_cache", body{})
	if err != nil || status != http.StatusOK && status != http.StatusBadRequest {
		return fmt.Errorf("%d %s: %w", status, text, err)
	}
	return nil
}

func (s *siege) audit(*rand.Rand, string) error {
	w, err := s.http.Get(s.url + "/debug/audit")
	if err != nil {
		return err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err == nil && !strings.Contains(string(text), `"ok":true`) {
		return fmt.Errorf("%d %s", w.StatusCode, text)
	}
	return err
}
