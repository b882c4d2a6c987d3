package httpapi_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// The behaviours of SGLang's tests end to end, with their numbers.
// docs/behaviours.md lists all of them.

// 16 clients are killed in the middle of answers of 2048 tokens (item 26), also on a
// server with keys: their aborts are counted and nothing is left.
func TestKilledClientsLeaveNothing(t *testing.T) {
	for name, headers := range map[string][]string{"open": nil, "with a key": {"Authorization", "Bearer secret"}} {
		t.Run(name, func(t *testing.T) {
			opt := testserver.Options{Context: 4096, PageSize: 16, Pages: 4096, StepTime: time.Millisecond, Log: 1}
			if headers != nil {
				opt.HTTP = httpapi.Options{APIKeys: []string{"secret"}}
			}
			s := testserver.Start(t, opt)
			ctx, kill := context.WithCancel(t.Context())
			var reading, gone sync.WaitGroup
			reading.Add(16)
			for range 16 {
				gone.Go(func() {
					read := sync.OnceFunc(reading.Done)
					defer read()
					req, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/generate",
						strings.NewReader(`{"text": "Once", "stream": true, "sampling_params": {"max_new_tokens": 2048, "ignore_eos": true}}`))
					req.Header.Set("Content-Type", "application/json")
					if headers != nil {
						req.Header.Set(headers[0], headers[1])
					}
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					lines := bufio.NewReader(resp.Body)
					for err == nil {
						_, err = lines.ReadString('\n')
						read() // an event has come: the client is in the middle of its answer
					}
					if ctx.Err() == nil {
						t.Error("the answer ended before the client was killed")
					}
				})
			}
			reading.Wait()
			kill()
			gone.Wait()
			for metric(t, s, "num_open_reqs", headers...) > 0 {
				s.Audit(t)
			}
			unharmed(t, s, headers...)
			if n := metric(t, s, "num_aborted_requests_total", headers...); n != 16 {
				t.Errorf("%v aborts are counted, want 16", n)
			}
		})
	}
}

// One id for several calls at once (item 27): one is served, the others get 400.
// Later the id can be used again. A batch has one id for all its prompts, so a list
// of ids is refused.
func TestDuplicateRequestIDsAtOnce(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := object{"text": onceUpon, "rid": "mine", "sampling_params": object{"max_new_tokens": 3}}
	s.Hold()
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- send(t, s, "POST", "/generate", body) }()
	}
	for range cap(answers) - 1 {
		a := <-answers
		if e := errorOf(t, a); a.status != http.StatusBadRequest || !strings.Contains(e["message"].(string), "Duplicate request ID") {
			t.Errorf("%d %v", a.status, e)
		}
	}
	s.Resume()
	if a := <-answers; a.status != http.StatusOK {
		t.Errorf("no request was served: %d %s", a.status, a.body)
	}
	for range 3 { // one after the other
		post(t, s, "/generate", body)
	}
	a := send(t, s, "POST", "/generate", with(body, object{"text": list{onceUpon, "b"}, "rid": list{"mine", "mine"}}))
	if e := errorOf(t, a); a.status != http.StatusBadRequest || e["param"] != "rid" {
		t.Errorf("%d %v", a.status, e)
	}
	for range 2 {
		if a := send(t, s, "POST", "/generate", with(body, object{"text": list{onceUpon, "b"}})); len(decodeList(t, a)) != 2 {
			t.Errorf("a batch with one id: %s", a.body)
		}
	}
	if a := send(t, s, "GET", "/health_generate", nil); a.status != http.StatusOK {
		t.Errorf("afterwards /health_generate returns %d", a.status)
	}
	unharmed(t, s)
}

// arrivals sends requests of 20 tokens with the given priorities to a server with
// one row and three places in its queue. Each is sent after the previous one was
// accepted or refused, with steps steps of the device between them. It returns the
// statuses, and the priorities of the served requests in the order of their ends.
func arrivals(t *testing.T, preempt bool, steps int, priorities ...int) (answers []answer, order []int) {
	t.Helper()
	s := testserver.Start(t, testserver.Options{MaxRunning: 1,
		Table: func(o *request.TableOptions) { o.Priorities, o.Displace, o.MaxQueuedRequests = true, true, 3 },
		Change: func(spec *engine.Spec) {
			spec.Queue.SchedulePolicy = "priority"
			spec.Batch.PriorityPreemption, spec.Batch.PreemptionThreshold = preempt, 10
		}})
	s.Hold()
	done := make([]chan answer, len(priorities))
	priority := map[any]int{} // by the engine's id
	for i, p := range priorities {
		done[i] = make(chan answer, 1)
		taken := len(logged(t, s, "request accepted"))
		go func() {
			done[i] <- send(t, s, "POST", "/generate", object{"text": onceUpon, "priority": p, "sampling_params": object{"max_new_tokens": 20}})
		}()
		for len(logged(t, s, "request accepted")) == taken && len(done[i]) == 0 {
			s.Audit(t)
		}
		if calls := logged(t, s, "request accepted"); len(calls) > taken {
			priority[at(t, calls[taken], "requests", 0)] = p
		}
		if i == 0 {
			s.WaitStep(t, 1)
			s.Step(t) // after this step intake has its start
		}
		for range steps {
			s.Step(t)
		}
	}
	s.Resume()
	for i := range done {
		answers = append(answers, <-done[i])
	}
	s.WaitIdle(t)
	for _, l := range logged(t, s, "request ended") {
		if l["output_tokens"] == 20.0 {
			order = append(order, priority[l["request"]])
		}
	}
	unharmed(t, s)
	return answers, order
}

// SGLang's cases of test_priority_scheduling.py (item 29).
func TestPriorityEndToEnd(t *testing.T) {
	for _, c := range []struct {
		name       string
		preempt    bool
		steps      int
		priorities []int
		order      []int // priorities of those served, as they end
		refused    []int // priorities that get 429
		why        string
	}{
		{"one runs, three wait", false, 0, []int{0, 1, 1, 2}, []int{0, 2, 1, 1}, nil, ""},
		{"rising", false, 0, []int{1, 2, 3, 4, 5, 6, 7}, []int{1, 7, 6, 5}, []int{2, 3, 4}, "higher priority"},
		{"falling", false, 0, []int{7, 6, 5, 4, 3, 2, 1}, []int{7, 6, 5, 4}, []int{3, 2, 1}, "max-queued-requests"},
		{"20 takes the place of 0", true, 3, []int{0, 10, 20}, []int{20, 10, 0}, nil, ""},
		{"5 does not", true, 3, []int{0, 5}, []int{0, 5}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers, order := arrivals(t, c.preempt, c.steps, c.priorities...)
			var refused []int
			for i, a := range answers {
				if a.status == http.StatusOK {
					continue
				}
				refused = append(refused, c.priorities[i])
				if e := errorOf(t, a); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || !strings.Contains(e["message"].(string), c.why) {
					t.Errorf("%d: %d %v", c.priorities[i], a.status, e)
				}
			}
			if !slices.Equal(order, c.order) || !slices.Equal(refused, c.refused) {
				t.Errorf("served %v, refused %v; want %v and %v", order, refused, c.order, c.refused)
			}
		})
	}
}

// hourglass is a clock that the test advances.
type hourglass struct {
	mu     sync.Mutex
	time   time.Duration
	timers []timer
}

type timer struct {
	at time.Duration
	f  func()
}

func (h *hourglass) now() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.time
}

func (h *hourglass) after(d time.Duration, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timers = append(h.timers, timer{h.time + d, f})
}

// pass advances the time and fires the timers that are due.
func (h *hourglass) pass(d time.Duration) {
	h.mu.Lock()
	h.time += d
	var due []timer
	h.timers = slices.DeleteFunc(h.timers, func(t timer) bool {
		if t.at <= h.time {
			due = append(due, t)
		}
		return t.at <= h.time
	})
	h.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}

// One row and two requests that may wait for a microsecond (item 31): the running
// one is served, the waiting one gets the only 503. With a timeout for the whole
// request both get it.
func TestTimeoutsEndToEnd(t *testing.T) {
	for name, set := range map[string]func(*request.TableOptions){
		"queue-timeout":   func(o *request.TableOptions) { o.QueueTimeout = time.Microsecond },
		"request-timeout": func(o *request.TableOptions) { o.RequestTimeout = time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			glass := &hourglass{}
			s := testserver.Start(t, testserver.Options{MaxRunning: 1, Table: set, Change: func(spec *engine.Spec) {
				spec.Clock, spec.After = glass.now, glass.after
			}})
			s.Hold()
			answers := [2]chan answer{make(chan answer, 1), make(chan answer, 1)}
			for i := range answers {
				go func() {
					answers[i] <- send(t, s, "POST", "/generate", object{"text": onceUpon, "sampling_params": object{"max_new_tokens": 20}})
				}()
				for len(logged(t, s, "request accepted")) == i {
					s.Audit(t)
				}
				if i == 0 {
					s.WaitStep(t, 1)
					s.Step(t) // after this step intake has its start
				}
			}
			glass.pass(time.Second)
			timedOut := 1
			if name == "request-timeout" {
				timedOut = 2
			}
			for i := 2 - timedOut; i < 2; i++ {
				a := <-answers[i]
				if e := errorOf(t, a); a.status != http.StatusServiceUnavailable || e["code"] != "request_timeout" || !strings.Contains(e["message"].(string), name) {
					t.Errorf("request %d: %d %v", i, a.status, e)
				}
			}
			s.Resume()
			if timedOut == 1 {
				if a := <-answers[0]; a.status != http.StatusOK {
					t.Errorf("the one that ran got %d %s", a.status, a.body)
				}
			}
			unharmed(t, s)
			if n := metric(t, s, "num_timed_out_requests_total"); n != float64(timedOut) {
				t.Errorf("%v requests ran out of time, want %d", n, timedOut)
			}
		})
	}
}
