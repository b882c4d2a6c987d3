package load

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/load/work"
)

func TestTimesOfAStream(t *testing.T) {
	virtual(t, pace(100*msec, 20*msec), nil, func(t *testing.T, o ClientOptions) {
		res := run(t, t.Context(), o, &Load{Source: prompts(1)})
		r := res.Records[0]
		ttft, _ := r.TTFT()
		tpot, _ := r.TPOT()
		if ttft != 100*msec || tpot != 20*msec || r.E2E() != 160*msec || !slices.Equal(r.Gaps, []time.Duration{20 * msec, 20 * msec, 20 * msec}) {
			t.Errorf("TTFT %v, TPOT %v, E2E %v, gaps %v", ttft, tpot, r.E2E(), r.Gaps)
		}
		if r.Input != 7 || r.Output != 4 || r.Cached != 3 || !r.Counted || r.Finish != "length" || r.Status != 200 || r.Outcome != Finished || r.Chunks != 4 {
			t.Errorf("%+v", r)
		}
		if res.Took != 160*msec || res.Peak != 1 || res.Interrupted {
			t.Errorf("took %v, peak %d, interrupted %v", res.Took, res.Peak, res.Interrupted)
		}
	})
}

func TestClosedLoopKeepsItsConcurrency(t *testing.T) {
	virtual(t, pace(100*msec, 20*msec), nil, func(t *testing.T, o ClientOptions) {
		res := run(t, t.Context(), o, &Load{Source: prompts(7), Concurrency: 3})
		// Three rounds of 160 ms: 3, 3 and 1.
		if res.Took != 480*msec || res.Peak != 3 || len(res.Records) != 7 {
			t.Errorf("took %v, peak %d, %d records", res.Took, res.Peak, len(res.Records))
		}
		p := NewReport(Setup{Stream: true}, res)
		if want := 7 * 160.0 / 480; math.Abs(p.Concurrency.Mean-want) > 1e-9 || math.Abs(p.Throughput.Output-28/0.48) > 1e-6 {
			t.Errorf("concurrency %v, want %v; %v tokens/s", p.Concurrency.Mean, want, p.Throughput.Output)
		}
	})
}

func TestOpenLoopDoesNotWaitForTheServer(t *testing.T) {
	for _, c := range []struct {
		name       string
		burstiness float64
		limit      int
	}{{"even", math.Inf(1), 0}, {"poisson", 1, 0}, {"limited", math.Inf(1), 1}} {
		virtual(t, pace(1000*msec, 0), nil, func(t *testing.T, o ClientOptions) {
			arrivals := &work.Arrivals{Rate: 10, Burstiness: c.burstiness, Seed: 3}
			res := run(t, t.Context(), o, &Load{Source: prompts(20), Concurrency: c.limit, Arrivals: arrivals})
			for i, r := range res.Records {
				switch {
				case c.limit == 0 && r.Sent != r.Due:
					t.Errorf("%s: request %d was due at %v and sent at %v", c.name, i, r.Due, r.Sent)
				case c.name == "even" && r.Due != time.Duration(i)*100*msec:
					t.Errorf("request %d is due at %v", i, r.Due)
				case c.limit == 1 && r.Sent != time.Duration(i)*time.Second:
					t.Errorf("limited: request %d was sent at %v", i, r.Sent)
				}
			}
			p := NewReport(Setup{Stream: true}, res)
			if late := p.SendDelay.Max; c.limit == 0 && late != 0 || c.limit == 1 && late != 900*19 {
				t.Errorf("%s: sent %v ms late", c.name, late)
			}
			if p.TTFT.Max != 1000 {
				t.Errorf("%s: TTFT %v ms: it counts from sending", c.name, p.TTFT.Max)
			}
		})
	}
}

func TestDurationBeginsNothingMore(t *testing.T) {
	for _, arrivals := range []*work.Arrivals{nil, {Rate: 5, Burstiness: math.Inf(1)}} {
		virtual(t, pace(100*msec, 20*msec), nil, func(t *testing.T, o ClientOptions) {
			res := run(t, t.Context(), o, &Load{Source: prompts(1000), Concurrency: 2, Duration: 500 * msec, Arrivals: arrivals})
			// Closed: pairs at 0, 160, 320, 480 ms. Open: at 0, 200, 400 ms.
			want, last := 8, 640*msec
			if arrivals != nil {
				want, last = 3, 560*msec
			}
			if len(res.Records) != want || res.Took != last || res.Exhausted || res.Interrupted {
				t.Errorf("%d requests in %v: %+v", len(res.Records), res.Took, res)
			}
			for _, r := range res.Records {
				if r.Outcome != Finished || r.Sent > 500*msec {
					t.Errorf("sent at %v: %v", r.Sent, r.Outcome)
				}
			}
		})
	}
}

func TestAnInterruptKeepsWhatWasMeasured(t *testing.T) {
	virtual(t, pace(100*msec, 20*msec), nil, func(t *testing.T, o ClientOptions) {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(250*msec, cancel).Stop()
		res := run(t, ctx, o, &Load{Source: prompts(100), Concurrency: 2})
		p := NewReport(Setup{Stream: true}, res)
		if p.Requests.Finished != 2 || p.Requests.CutOff != 2 || p.Requests.Failed != 0 || !p.Interrupted || p.E2E.Count != 2 || p.E2E.Max != 160 {
			t.Errorf("%+v", p)
		}
		if res.Took != 250*msec {
			t.Errorf("took %v", res.Took)
		}
	})
}

func TestSourcesEndRuns(t *testing.T) {
	virtual(t, pace(10*msec, 0), nil, func(t *testing.T, o ClientOptions) {
		if res := run(t, t.Context(), o, &Load{Source: prompts(3), Sessions: 5, Concurrency: 1}); len(res.Records) != 3 || !res.Exhausted {
			t.Errorf("%d records, exhausted %v", len(res.Records), res.Exhausted)
		}
		if res := run(t, t.Context(), o, &Load{Source: prompts(3), Sessions: 2, Concurrency: 1}); len(res.Records) != 2 || res.Exhausted {
			t.Errorf("%d records, exhausted %v", len(res.Records), res.Exhausted)
		}
	})
}

func TestLiveReadings(t *testing.T) {
	virtual(t, pace(100*msec, 20*msec), nil, func(t *testing.T, o ClientOptions) {
		l := &Load{Source: prompts(5), Concurrency: 2}
		during := make(chan Reading, 1)
		time.AfterFunc(210*msec, func() { during <- l.Live.Read() })
		run(t, t.Context(), o, l)
		if got, want := <-during, (Reading{Finished: 2, Running: 2, Tokens: 8, TTFT: 100 * msec}); got != want {
			t.Errorf("after 210 ms %+v, want %+v", got, want)
		}
		if after := l.Live.Read(); after.Finished != 5 || after.Running != 0 || after.Tokens != 20 {
			t.Errorf("after the end %+v", after)
		}
	})
	var l Live
	for i := range 1001 {
		l.first(time.Duration(i) * msec)
	}
	if got := l.Read().TTFT; (got - 500*msec).Abs() > 2*msec {
		t.Errorf("the median is %v", got)
	}
}

func TestConversations(t *testing.T) {
	for _, chat := range []bool{true, false} {
		var bodies []asked
		h := func(w http.ResponseWriter, r *http.Request) {
			bodies = append(bodies, readBody(r))
			send(w, `data: {"choices":[{"text":"yes","delta":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`+"\n\ndata: [DONE]\n\n")
		}
		virtual(t, h, func(o *ClientOptions) { o.Chat = chat }, func(t *testing.T, o ClientOptions) {
			res := run(t, t.Context(), o, &Load{Source: list{left: 1, turns: 3, system: "Be brief."}.source()})
			if len(res.Records) != 3 || res.Unsent != 0 || res.Records[2].Turn != 2 || res.Records[2].Wanted != 3*10+2*2 {
				t.Fatalf("%+v", res)
			}
			if last := bodies[2]; !chat {
				if want := "Be brief.\n\nquestion 0yes\n\nquestion 1yes\n\nquestion 2"; last.Prompt != want {
					t.Errorf("prompt %q, want %q", last.Prompt, want)
				}
				return
			}
			var said string
			for _, m := range bodies[2].Messages {
				said += m.Role + ": " + m.Content + "\n"
			}
			if want := "system: Be brief.\nuser: question 0\nassistant: yes\nuser: question 1\nassistant: yes\nuser: question 2\n"; said != want {
				t.Errorf("said\n%swant\n%s", said, want)
			}
		})
	}
}

func TestDurationEndsConversations(t *testing.T) {
	virtual(t, pace(100*msec, 0), nil, func(t *testing.T, o ClientOptions) {
		res := run(t, t.Context(), o, &Load{Source: list{left: 9, turns: 5}.source(), Concurrency: 1, Duration: 250 * msec})
		if len(res.Records) != 3 || res.Unsent != 2 || res.Took != 300*msec {
			t.Errorf("%d requests in %v, %d turns not sent", len(res.Records), res.Took, res.Unsent)
		}
	})
}

func TestAFailedTurnEndsItsConversation(t *testing.T) {
	calls := 0
	h := func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 2 {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		pace(msec, 0)(w, r)
	}
	virtual(t, h, nil, func(t *testing.T, o ClientOptions) {
		res := run(t, t.Context(), o, &Load{Source: list{left: 1, turns: 4}.source()})
		if len(res.Records) != 2 || res.Unsent != 2 || res.Records[1].Outcome != Failed {
			t.Errorf("%+v", res)
		}
	})
}

func TestAnswersAreChecked(t *testing.T) {
	check := func(answer string) work.Verdict {
		if answer == " t0 t1 t2 t3" {
			return work.Right
		}
		return work.Wrong
	}
	virtual(t, pace(0, 0), nil, func(t *testing.T, o ClientOptions) {
		res := run(t, t.Context(), o, &Load{Source: list{left: 2, check: check}.source()})
		if p := NewReport(Setup{}, res); p.Accuracy == nil || p.Accuracy.Right != 2 || p.Accuracy.Share != 1 {
			t.Errorf("%+v", p.Accuracy)
		}
	})
}

// A run ends if the server refuses all of the first requests, not if it answers one
// of them.
func TestRefusalsEndARun(t *testing.T) {
	for _, c := range []struct {
		name           string
		answers, limit int // requests that are answered before all others are refused
		status         int
		want           int // requests sent; fewer than 10 if the run ended early
	}{
		{"the first", 0, 1, http.StatusBadRequest, 1},
		{"some", 0, 3, http.StatusUnprocessableEntity, 3},
		{"one was answered", 1, 1, http.StatusBadRequest, 10},
		{"no limit", 0, 0, http.StatusBadRequest, 10},
		{"overloaded", 0, 1, http.StatusServiceUnavailable, 10},
	} {
		served := 0
		h := func(w http.ResponseWriter, r *http.Request) {
			if served++; served <= c.answers {
				pace(msec, msec)(w, r)
				return
			}
			http.Error(w, `{"error":{"message":"too long"}}`, c.status)
		}
		virtual(t, h, nil, func(t *testing.T, o ClientOptions) {
			client, err := NewClient(o)
			if err != nil {
				t.Fatal(err)
			}
			l := &Load{Client: client, Source: prompts(10), Concurrency: 1, Refusals: c.limit}
			result, err := l.Run(t.Context())
			var refused *Refusal
			if gaveUp := errors.As(err, &refused); gaveUp != (c.want < 10) || !gaveUp && err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if served != c.want || len(result.Records) != c.want || result.Interrupted {
				t.Errorf("%s: %d requests, %d records, interrupted: %v", c.name, served, len(result.Records), result.Interrupted)
			}
			if refused != nil && (refused.Wanted != 10 || refused.MaxTokens != 4 || !strings.Contains(err.Error(), "too long")) {
				t.Errorf("%s: %+v: %v", c.name, refused, err)
			}
		})
	}
}

// An answer takes longer than a refusal: refusals before the first answer do not end a
// run.
func TestRefusalsBesideAnAnswer(t *testing.T) {
	var served atomic.Int64
	h := func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1) > 1 {
			http.Error(w, `{"error":{"message":"too long"}}`, http.StatusBadRequest)
			return
		}
		pace(time.Second, msec)(w, r)
	}
	virtual(t, h, nil, func(t *testing.T, o ClientOptions) {
		res := run(t, t.Context(), o, &Load{Source: prompts(10), Concurrency: 2, Refusals: 3})
		answered := slices.DeleteFunc(slices.Clone(res.Records), func(r Record) bool { return r.Outcome != Finished })
		if len(res.Records) != 10 || len(answered) != 1 {
			t.Errorf("%d records, %d answered", len(res.Records), len(answered))
		}
	})
}
