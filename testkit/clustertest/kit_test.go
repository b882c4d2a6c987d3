package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echo answers every byte with the same one until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	says(t, c, "hello")
	return c
}

// says checks that what is written comes back.
func says(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("read %q, %v; wrote %q", got, err, text)
	}
}

func TestTheProxyBreaksConnections(t *testing.T) {
	p := NewProxy(t, "127.0.0.1", echo(t))
	first, second := dial(t, p), dial(t, p)
	if n := p.Conns(); n != 2 {
		t.Fatalf("%d connections", n)
	}
	_, thaw := p.Freeze(1)
	if _, err := second.Write([]byte("frozen")); err != nil {
		t.Fatal(err)
	}
	says(t, first, "the other one goes on")
	thaw()
	got := make([]byte, 6)
	if _, err := io.ReadFull(second, got); err != nil || string(got) != "frozen" {
		t.Fatalf("after a thaw: %q, %v", got, err)
	}
	p.HalfOpen(0, false)
	if _, err := first.Write([]byte("lost")); err != nil {
		t.Fatal(err)
	}
	p.Cut(0)
	if got, err := io.ReadAll(first); len(got) > 0 || err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("after a cut: %q, %v; want a reset and none of the lost bytes", got, err)
	}
	says(t, second, "still there")
}

func TestStreamsAndWholeAnswersAreCompared(t *testing.T) {
	event := func(s *stream, text string) {
		t.Helper()
		if err := s.add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var a, b, c stream
	event(&a, `{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"one "},"logprobs":{"content":[{"token":"one"}]},"finish_reason":null}]}`)
	event(&a, `{"id":"1","choices":[{"index":0,"delta":{"content":"two"},"logprobs":{"content":[{"token":"two"}]},"finish_reason":"stop"}]}`)
	event(&a, `{"id":"1","choices":[],"usage":{"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":7}}}`)
	event(&b, `{"id":"2","choices":[{"index":0,"delta":{"role":"assistant","content":"one two"},"logprobs":{"content":[{"token":"one"},{"token":"two"}]},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`)
	event(&c, `{"id":"2","choices":[{"index":0,"delta":{"role":"assistant","content":"one too"},"logprobs":{"content":[{"token":"one"},{"token":"two"}]},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`)
	answer := func(s *stream) Answer {
		got, err := s.answer()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if d := Differ(answer(&a), answer(&b)); d != "" {
		t.Errorf("the same text in two events and in one differs %s", d)
	}
	if Differ(answer(&c), answer(&b)) == "" {
		t.Error("another text is equal")
	}
	var failure *Failure
	if err := a.add([]byte(`{"error":{"message":"no"}}`)); !errors.As(err, &failure) || !failure.Begun {
		t.Errorf("an error in a stream: %v", err)
	}
	one, err := whole([]byte(`{"id":"1","text":"a","meta_info":{"e2e_latency":3,"cached_tokens":1,"output_ids":[1,2]}}`))
	two, err2 := whole([]byte(`{"id":"2","text":"a","meta_info":{"e2e_latency":4,"cached_tokens":2,"output_ids":[1,3]}}`))
	if err != nil || err2 != nil || one == two {
		t.Errorf("%s and %s: %v %v", one, two, err, err2)
	}
}

func TestAPlanIsOfItsSeed(t *testing.T) {
	text := func(seed uint64) string { return fmt.Sprint(Plan(seed, 10*time.Minute, time.Second)) }
	if first, again := text(1), text(1); first != again || first == text(2) {
		t.Error("the plan does not depend on its seed alone")
	}
	plan, seen := Plan(1, 10*time.Minute, time.Second), map[Kind]int{}
	for i, f := range plan {
		if seen[f.Kind]++; i < len(weights) && seen[f.Kind] > 1 {
			t.Errorf("%q came twice among the first %d", f.Kind, len(weights))
		}
	}
	if len(seen) != len(weights) || len(plan) < 500 || len(plan) > 700 {
		t.Errorf("%d faults in 10 minutes, %v", len(plan), seen)
	}
}

func TestAWorkloadIsOfItsSeed(t *testing.T) {
	text := func(seed uint64) string {
		var b bytes.Buffer
		for _, q := range Workload(seed, 200, Lengths{5, 60}) {
			b.WriteString(q.Path)
			canonical, err := canonical(q.Body)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(string(canonical) + "\n")
		}
		return b.String()
	}
	if first, again := text(1), text(1); first != again || first == text(2) {
		t.Error("the workload does not depend on its seed alone")
	}
	for _, kind := range []string{`"n":`, `"stop":`, `_penalty"`, `"logprobs":`, `"return_logprob":true`, `"input_ids":`, `"prompt":[`, `"cache_salt":`,
		`"stream":true`, `"stream":false`, "/v1/chat/completions", "/v1/completions", "/generate", `"temperature":0,`, `"logit_bias":`} {
		if n := strings.Count(text(1), kind); n < 5 {
			t.Errorf("%d requests have %s", n, kind)
		}
	}
}
