package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

// intakeOf is a model's intake that a test plays itself.
type intakeOf struct{ calls chan *messages.SubmitRequests }

func newIntake() *intakeOf { return &intakeOf{calls: make(chan *messages.SubmitRequests, 1)} }

// Ready implements Engine.
func (*intakeOf) Ready() bool { return true }

// Send implements Engine.
func (e *intakeOf) Send(msg messages.ToIntake) {
	if m, ok := msg.(*messages.SubmitRequests); ok {
		m.Events <- &messages.CallAccepted{Call: m.Call}
		e.calls <- m
	}
}

// timed records when a handler writes what.
type timed struct {
	*httptest.ResponseRecorder
	start  time.Time
	at     []time.Duration
	writes []string
}

func (w *timed) Write(p []byte) (int, error) {
	w.at, w.writes = append(w.at, time.Since(w.start)), append(w.writes, string(p))
	return w.ResponseRecorder.Write(p)
}

// streaming calls /v1/completions with a body while a test plays intake.
func streaming(t *testing.T, body string, play func(m *messages.SubmitRequests)) *timed {
	e := newIntake()
	model := testModel(t)
	model.ID, model.Context, model.Fingerprint = "m", 512, func(context.Context) string { return "fp_own" }
	s := New(Deps{Models: Serving(&Served{Model: *model, Engine: e}), Log: zerolog.Nop(), Seed: func() uint64 { return 1 }, Now: time.Now})
	defer s.Drain()
	r := httptest.NewRequest("POST", "http://localhost/v1/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := &timed{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
	done := make(chan struct{})
	go func() {
		s.Handler().ServeHTTP(w, r)
		close(done)
	}()
	play(<-e.calls)
	<-done
	return w
}

func outputOf(m *messages.SubmitRequests, text string, f *messages.Finish) *messages.CallOutput {
	return &messages.CallOutput{Call: m.Call, Text: text, Finish: f}
}

var ended = &messages.Finish{Reason: messages.FinishLength, MatchedToken: -1}

// A stream that waits for its engine says so every 15 s, counted from what it sent
// last, and goes on as if nothing had happened.
func TestAWaitingStreamSendsComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := streaming(t, `{"prompt": "a", "stream": true}`, func(m *messages.SubmitRequests) {
			for i, pause := range []time.Duration{10 * time.Second, 10 * time.Second, 40 * time.Second} {
				time.Sleep(pause) // virtual
				f := ended
				if i < 2 {
					f = nil
				}
				m.Events <- outputOf(m, "x", f)
			}
		})
		if w.Code != http.StatusOK {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		var comments []time.Duration
		for i, text := range w.writes {
			if text == waiting {
				comments = append(comments, w.at[i])
			}
		}
		if !slices.Equal(comments, []time.Duration{35 * time.Second, 50 * time.Second}) {
			t.Errorf("comments at %v; the output came at 10, 20 and 60 s", comments)
		}
		if n := strings.Count(w.Body.String(), "data: "); n != 4 || !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
			t.Errorf("%d events: %s", n, w.Body)
		}
	})
}

// A stream that has not begun sends nothing, so its error has a status of its own. One
// that has begun ends with an event.
func TestAnErrorAfterALongWait(t *testing.T) {
	given := &messages.Finish{Reason: messages.FinishError, MatchedToken: -1, Message: "too late", Kind: messages.RefusedUnavailable, RetryAfterSeconds: 7}
	synctest.Test(t, func(t *testing.T) {
		w := streaming(t, `{"prompt": "a", "stream": true}`, func(m *messages.SubmitRequests) {
			time.Sleep(time.Minute) // virtual
			m.Events <- outputOf(m, "", given)
		})
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "7" || strings.Contains(w.Body.String(), waiting) {
			t.Errorf("before it began: %d %v: %s", w.Code, w.Header(), w.Body)
		}
		w = streaming(t, `{"prompt": "a", "stream": true}`, func(m *messages.SubmitRequests) {
			m.Events <- outputOf(m, "x", nil)
			time.Sleep(20 * time.Second) // virtual
			m.Events <- outputOf(m, "", given)
		})
		if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, waiting+`data: {"error":{"message":"too late","type":"server_error","param":null,"code":"no_engine"}}`) || strings.Contains(text, "[DONE]") {
			t.Errorf("after it began: %d: %s", w.Code, text)
		}
	})
}

// An answer that is not streamed just waits.
func TestAWholeAnswerHasNoComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := streaming(t, `{"prompt": "a"}`, func(m *messages.SubmitRequests) {
			time.Sleep(time.Minute) // virtual
			m.Events <- outputOf(m, "x", ended)
		})
		if w.Code != http.StatusOK || len(w.writes) != 1 {
			t.Errorf("%d, written in %d parts: %s", w.Code, len(w.writes), w.Body)
		}
	})
}
