package httpapi_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/request"
)

// A request that would wait for too long gets 429 at once, with the estimate in text
// and header. The estimate grows while the engine makes no progress.
func TestALongLineAnswers429(t *testing.T) {
	l := startLimited(t, request.TableOptions{QueueTimeout: time.Minute, MaxRunning: 1})
	stream := l.first(t, nil)
	waiting := [2]<-chan answer{l.wait(t, nil), l.wait(t, nil)}
	l.pass(45 * time.Second)
	last := 30
	for range 2 {
		answers := make(chan answer, 1)
		go func() { answers <- send(t, l.Server, "POST", "/v1/completions", object{"prompt": onceUpon}) }()
		var a answer
		select {
		case a = <-answers:
		case <-l.queued:
			t.Fatal("it was taken")
		}
		turnedAway(t, a, 429, "rate_limit_exceeded", "half of queue-timeout")
		after, _ := strconv.Atoi(a.header.Get("Retry-After"))
		if after <= last || !strings.Contains(string(a.body), "send it again in "+strconv.Itoa(after)+" s") {
			t.Errorf("Retry-After is %d, want more than %d; the text is %s", after, last, a.body)
		}
		last = after
		l.pass(5 * time.Second)
	}
	if n := metric(t, l.Server, "queue_wait_estimate_seconds"); n < 30 {
		t.Errorf("the metric says %g s", n)
	}
	l.unharmed(t, stream)
	for _, w := range waiting {
		if a := <-w; a.status != 200 {
			t.Errorf("a request that waited in time got %d: %s", a.status, a.body)
		}
	}
	if a := send(t, l.Server, "POST", "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2}); a.status != 200 {
		t.Errorf("a later request got %d: %s", a.status, a.body)
	}
}
