package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// limited is a server with bounds on waiting, one row and virtual time. Its device
// stops after the first step with a token, so that one request runs and later ones
// wait.
type limited struct {
	*testserver.Server
	queued chan int      // requests, as they reach the queue
	token  chan struct{} // closed at the first one

	hourglass
}

// limitedContext is the most tokens of a request.
const limitedContext = 64

func startLimited(t *testing.T, opt request.TableOptions) *limited {
	l := &limited{queued: make(chan int, 16), token: make(chan struct{})}
	var stop sync.Once
	l.Server = testserver.Start(t, testserver.Options{MaxRunning: 1, Context: limitedContext, Change: func(spec *engine.Spec) {
		opt.ContextLength, opt.PoolTokens, opt.Vocab = limitedContext, 4096, testserver.Tokenizer().VocabSize()
		opt.MaxOpenRequests, opt.MaxLogprobs, opt.MaxStopBytes = 100, 20, 1<<16
		spec.Intake.Table = request.NewTable(opt)
		if opt.Priorities {
			spec.Queue = queue.Options{SchedulePolicy: "priority"}
		}
		spec.Clock, spec.After = l.now, l.after
		spec.Intercept = func(role messages.Actor, msg any) {
			switch m := msg.(type) {
			case *messages.EnqueueRequests:
				l.queued <- len(m.Requests)
			case *messages.StepResults:
				if role == messages.Intake && len(m.Tokens) > 0 {
					stop.Do(func() { close(l.token) })
				}
			}
		}
	}})
	return l
}

// first starts a request that runs, holds the device once it has a token, and
// returns its stream.
func (l *limited) first(t *testing.T, more object) *http.Response {
	t.Helper()
	steps := l.Steps()
	l.Hold()
	streams := make(chan *http.Response, 1)
	body := object{"prompt": onceUpon, "max_tokens": 30, "stream": true, "ignore_eos": true}
	for k, v := range more {
		body[k] = v
	}
	go func() { streams <- open(t, l.Server, "POST", "/v1/completions", body) }()
	l.WaitStep(t, steps+1)
	l.PassOne()
	<-l.token
	l.WaitStep(t, steps+2)
	<-l.queued
	return <-streams
}

// wait sends a request that must wait and returns once it does.
func (l *limited) wait(t *testing.T, more object) <-chan answer {
	t.Helper()
	done := make(chan answer, 1)
	body := object{"prompt": onceUpon, "max_tokens": 3}
	for k, v := range more {
		body[k] = v
	}
	go func() { done <- send(t, l.Server, "POST", "/v1/completions", body) }()
	<-l.queued
	return done
}

// turnedAway checks an answer with a time to try again.
func turnedAway(t *testing.T, a answer, status int, code, reason string) {
	t.Helper()
	e := errorOf(t, a)
	if a.status != status || e["code"] != code || !strings.Contains(e["message"].(string), reason) {
		t.Errorf("got %d %s, want %d %s for %s", a.status, a.body, status, code, reason)
	}
	if s, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || s < 1 {
		t.Errorf("Retry-After is %q, want seconds", a.header.Get("Retry-After"))
	}
}

// unharmed resumes the device and checks the stream of the first request.
func (l *limited) unharmed(t *testing.T, stream *http.Response) {
	t.Helper()
	l.Resume()
	defer stream.Body.Close()
	data := readEvents(t, stream.Body)
	if len(data) == 0 || data[len(data)-1] != "[DONE]" || strings.Contains(strings.Join(data, ""), `"error"`) {
		t.Fatalf("the running request ended with %q", data)
	}
	var last struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(data[len(data)-2]), &last); err != nil || len(last.Choices) != 1 || last.Choices[0].FinishReason != "length" {
		t.Errorf("the running request ends with %s, %v", data[len(data)-2], err)
	}
	if len(data) < 30 {
		t.Errorf("30 tokens came in %d events", len(data))
	}
}

func TestAFullQueueAnswers429(t *testing.T) {
	l := startLimited(t, request.TableOptions{MaxQueuedRequests: 1})
	stream := l.first(t, nil)
	waiting := l.wait(t, nil)
	turnedAway(t, send(t, l.Server, "POST", "/v1/completions", object{"prompt": onceUpon}), 429, "rate_limit_exceeded", "max-queued-requests")
	// Also as a stream, whose status is not sent before it is accepted.
	turnedAway(t, send(t, l.Server, "POST", "/v1/completions", object{"prompt": onceUpon, "stream": true}), 429, "rate_limit_exceeded", "max-queued-requests")
	l.unharmed(t, stream)
	if a := <-waiting; a.status != 200 {
		t.Errorf("the request in the queue got %d: %s", a.status, a.body)
	}
}

func TestQueueTimeoutAnswers503(t *testing.T) {
	l := startLimited(t, request.TableOptions{QueueTimeout: time.Minute})
	stream := l.first(t, nil)
	early := l.wait(t, nil)
	l.pass(40 * time.Second)
	late := l.wait(t, nil)
	l.pass(20 * time.Second)
	turnedAway(t, <-early, 503, "request_timeout", "queue-timeout")
	select {
	case a := <-late:
		t.Errorf("a request that waited 20 s got %d: %s", a.status, a.body)
	default:
	}
	l.unharmed(t, stream)
	if a := <-late; a.status != 200 {
		t.Errorf("the request that waited in time got %d: %s", a.status, a.body)
	}
}

func TestRequestTimeoutEndsAStreamWithAnError(t *testing.T) {
	l := startLimited(t, request.TableOptions{RequestTimeout: time.Minute})
	stream := l.first(t, nil)
	defer stream.Body.Close()
	waiting := l.wait(t, nil)
	l.pass(time.Minute)
	// The stream has begun long ago, so its status cannot change.
	data := readEvents(t, stream.Body)
	if stream.StatusCode != 200 || len(data) < 2 {
		t.Fatalf("status %d, events %q", stream.StatusCode, data)
	}
	var event struct {
		Error struct{ Message, Code string }
	}
	text := ""
	for _, d := range data {
		if strings.Contains(d, `"error"`) {
			text = d
		}
	}
	if err := json.Unmarshal([]byte(text), &event); err != nil || event.Error.Code != "request_timeout" || !strings.Contains(event.Error.Message, "request-timeout") {
		t.Errorf("the stream ends with %q", data)
	}
	turnedAway(t, <-waiting, 503, "request_timeout", "request-timeout")
	l.Resume()
	if a := send(t, l.Server, "POST", "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2}); a.status != 200 {
		t.Errorf("a later request got %d: %s", a.status, a.body)
	}
}

func TestAnUrgentRequestTakesAPlaceInTheQueue(t *testing.T) {
	l := startLimited(t, request.TableOptions{MaxQueuedRequests: 1, Priorities: true, Displace: true})
	stream := l.first(t, object{"priority": 1})
	ordinary := l.wait(t, object{"priority": 1})
	urgent := l.wait(t, object{"priority": 2})
	turnedAway(t, <-ordinary, 429, "rate_limit_exceeded", "higher priority")
	turnedAway(t, send(t, l.Server, "POST", "/v1/completions", object{"prompt": onceUpon, "priority": 2}), 429, "rate_limit_exceeded", "max-queued-requests")
	l.unharmed(t, stream)
	if a := <-urgent; a.status != 200 {
		t.Errorf("the urgent request got %d: %s", a.status, a.body)
	}
}
