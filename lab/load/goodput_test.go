package load

import (
	"strings"
	"testing"
	"time"
)

func TestObjectives(t *testing.T) {
	o, err := ParseObjectives([]string{"ttft:200ms tpot:50", "e2el:10s"})
	if want := (Objectives{200 * msec, 50 * msec, 10 * time.Second}); err != nil || o != want || o.String() != "ttft:200ms tpot:50ms e2e:10s" {
		t.Errorf("%+v, %v, %s", o, err, o)
	}
	if o, err := ParseObjectives(nil); err != nil || o.Any() {
		t.Errorf("none: %+v, %v", o, err)
	}
	for text, want := range map[string]string{"ttft": "is not a latency limit", "ttft:fast": "is not a latency limit", "ttft:-1": "is not a latency limit", "itl:5ms": "not known", "ttft:1 ttft:2": "twice"} {
		if _, err := ParseObjectives([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", text, err)
		}
	}
	answer := func(ttft, e2e time.Duration, tokens int, streamed bool) *Record {
		return &Record{Sent: 5, First: 5 + ttft, Last: 5 + e2e, Chunks: tokens, Output: tokens, Streamed: streamed}
	}
	for _, c := range []struct {
		limits string
		r      *Record
		met    bool
	}{
		{"ttft:100", answer(100*msec, 500*msec, 5, true), true},
		{"ttft:100", answer(100*msec+1, 500*msec, 5, true), false},
		{"tpot:100", answer(100*msec, 500*msec, 5, true), true},
		{"tpot:99", answer(100*msec, 500*msec, 5, true), false},
		{"tpot:1", answer(100*msec, 100*msec, 1, true), true}, // one token has no TPOT
		{"e2e:500", answer(100*msec, 500*msec, 5, true), true},
		{"e2e:499", answer(100*msec, 500*msec, 5, true), false},
		{"e2e:500", answer(0, 500*msec, 5, false), true},
		{"ttft:500", answer(0, 100*msec, 5, false), false}, // the time of the first token is not known
		{"ttft:100,tpot:100,e2e:499", answer(100*msec, 500*msec, 5, true), false},
	} {
		o, err := ParseObjectives([]string{c.limits})
		if err != nil || o.Met(c.r) != c.met {
			t.Errorf("%s: met is %v, %v: %+v", c.limits, !c.met, err, c.r)
		}
	}
}
