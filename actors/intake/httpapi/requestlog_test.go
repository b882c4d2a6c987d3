package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// logged are the lines of the log with a message.
func logged(t testing.TB, s *testserver.Server, message string) (lines []object) {
	t.Helper()
	for line := range strings.Lines(s.Logs()) {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if o["message"] == message {
			lines = append(lines, o)
		}
	}
	return lines
}

func TestRequestLogTellsWhyAPrefixWasFound(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	ids := []int32{20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33}
	other := append(append([]int32(nil), ids[:9]...), 5, 5, 5, 5)
	for _, body := range []object{
		{"prompt": ids}, {"prompt": ids}, {"prompt": other}, {"prompt": ids, "cache_salt": "x"},
		{"prompt": ids, "echo": true, "logprobs": 1},
	} {
		body["max_tokens"], body["seed"] = 2, 1
		post(t, s, "/v1/completions", body)
		s.WaitIdle(t)
	}
	lines := logged(t, s, "prefix looked up")
	limit := (len(ids) - 1) / 4 * 4
	for i, w := range []struct {
		why    string
		cached int
		at     int
	}{
		{"nothing is cached in the request's namespace", 0, 0}, {"the whole reusable part of the prompt is cached", limit, len(ids) - 1},
		{"the prompt differs from the cached one here", 8, 9}, {"nothing is cached in the request's namespace", 0, 0}, {"the reusable part of the prompt is shorter than one page", 0, 0},
	} {
		if i >= len(lines) {
			t.Fatalf("%d lines:\n%s", len(lines), s.Logs())
		}
		want(t, lines[i], w.why, "why")
		want(t, lines[i], w.cached, "cached_tokens")
		want(t, lines[i], w.at, "at_token")
	}
	ends := logged(t, s, "request ended")
	if len(ends) != 5 {
		t.Fatalf("%d ends", len(ends))
	}
	want(t, ends[1], limit, "cached_tokens")
	want(t, ends[1], len(ids), "prompt_tokens")
	want(t, ends[1], 2, "output_tokens")
	want(t, ends[1], 0, "retractions")
	for _, key := range []string{"queue_ms", "ttft_ms", "took_ms"} {
		if v, ok := ends[1][key].(float64); !ok || v < 0 {
			t.Errorf("%s is %v", key, ends[1][key])
		}
	}
	accepted := logged(t, s, "request accepted")
	want(t, accepted[0]["requests"], list{lines[0]["request"]})
	post(t, s, "/v1/completions", object{"prompt": ids, "max_tokens": 1, "rid": "my-rid"})
	accepted = logged(t, s, "request accepted")
	// printf %s my-rid | sha256sum
	want(t, accepted[len(accepted)-1], "f498ae763478f5a0", "rid_digest")
	if strings.Contains(s.Logs(), "Once upon") {
		t.Error("the log has a prompt")
	}
}

func TestRequestLogTellsOfEvictionsAndRetractions(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Pages: 20, PageSize: 4, Context: 64})
	ids := []int32{20, 21, 22, 23, 24, 25, 26, 27}
	for i := range 6 { // each with a prefix of its own
		post(t, s, "/v1/completions", object{"prompt": append([]int32{int32(10 + i)}, ids[:7]...), "max_tokens": 20, "n": 3, "seed": 1})
	}
	s.WaitIdle(t)
	pages := 0.0
	for _, l := range logged(t, s, "pages evicted") {
		pages += l["evicted_pages"].(float64)
	}
	if pages == 0 {
		t.Error("no eviction was logged")
	}
	if ends := logged(t, s, "request ended"); len(ends) != 18 {
		t.Errorf("%d ends of 18 requests", len(ends))
	}
}

func TestRequestLogIsOffAboveDebug(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Log: zerolog.InfoLevel})
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2})
	s.WaitIdle(t)
	if n := len(logged(t, s, "prefix looked up")) + len(logged(t, s, "request ended")) + len(logged(t, s, "request accepted")); n != 0 {
		t.Errorf("%d lines", n)
	}
}

// The request log begins and ends with the level, in the middle of an epoch. Of a
// request that was admitted before, it has only the end.
func TestRequestLogFollowsTheLevel(t *testing.T) {
	var level telemetry.LogLevel
	level.Set(zerolog.InfoLevel)
	s := testserver.Start(t, testserver.Options{Log: zerolog.DebugLevel, Change: func(spec *engine.Spec) { spec.Log = spec.Log.Sample(&level) }})
	ask := func() {
		post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 3})
		s.WaitIdle(t)
	}
	expect := func(when string, ends, lookups int) {
		t.Helper()
		if e, l := len(logged(t, s, "request ended")), len(logged(t, s, "prefix looked up")); e != ends || l != lookups {
			t.Errorf("%s: %d ends and %d look-ups are logged, want %d and %d", when, e, l, ends, lookups)
		}
	}
	ask()
	expect("at info", 0, 0)
	level.Set(zerolog.DebugLevel)
	ask()
	expect("at debug", 1, 1)
	want(t, logged(t, s, "request ended")[0], 3, "output_tokens")
	level.Set(zerolog.InfoLevel)
	ask()
	expect("at info again", 1, 1)
	s.Hold()
	done := make(chan bool)
	go func() {
		ask()
		close(done)
	}()
	s.Step(t)
	level.Set(zerolog.DebugLevel)
	s.Resume()
	<-done
	expect("at debug while a request runs", 2, 1)
	if end := logged(t, s, "request ended")[1]; end["reason"] != "length" || end["output_tokens"] != nil {
		t.Errorf("the line is %v", end)
	}
}
