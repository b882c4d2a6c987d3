package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// idle is an executor that never finishes a step.
type idle struct{ runner.Executor }

func (idle) Submit(*messages.RunBatch, func(*messages.BatchDone, error)) {}

// If the engine gives up while it drains, the process ends at once with the reason:
// open requests would never finish.
func TestAnEngineThatGivesUpIsNotDrained(t *testing.T) {
	c := settings(t)
	c.HTTP.Port, c.DrainTimeout = 0, time.Hour
	n := open(t, c, func(spec *engine.Spec) { spec.Members[0].Executor = idle{spec.Members[0].Executor} })
	api := n.API()
	listener, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan messages.CallEvent, 4)
	n.Engine.Send(&messages.SubmitRequests{Call: 1, Events: events, Requests: []messages.Submission{{
		Prompt: []int32{1, 2, 3}, After: -1,
		Params: &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 5, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs},
	}}})
	if event := <-events; event.(*messages.CallAccepted) == nil {
		t.Fatalf("got %T", event)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, api, listener) }()
	cancel()
	select {
	case err := <-served:
		t.Fatalf("it did not wait for the open request: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	gone := errors.New("the device is gone")
	n.Fatal <- gone
	select {
	case err := <-served:
		if !errors.Is(err, gone) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it still waits for the open request")
	}
}

// When drain-timeout expires, the requests that are still open end with an
// error that their clients can read.
func TestWhatOutlivesTheDrainIsAborted(t *testing.T) {
	c := settings(t)
	c.HTTP.Port, c.DrainTimeout = 0, 50*time.Millisecond
	n := open(t, c, func(spec *engine.Spec) { spec.Members[0].Executor = slow{spec.Members[0].Executor} })
	listeners, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, n.API(), listeners) }()
	answer, err := http.Post("http://"+listeners.API.Addr().String()+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt": "Once", "stream": true, "ignore_eos": true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cancel()
	stream, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(stream), `"shutting_down"`) {
		t.Errorf("the stream ends with %q, %v", stream[max(0, len(stream)-300):], err)
	}
	if err := <-served; err != nil {
		t.Errorf("a drain that ran out of time ended with %v", err)
	}
}

// When the engine gives up, for example because its device is lost, no request ends without
// a word.
func TestAnEngineThatGivesUpEndsItsStreamsWithAnError(t *testing.T) {
	c := settings(t)
	c.HTTP.Port = 0
	n := open(t, c, func(spec *engine.Spec) { spec.Members[0].Executor = idle{spec.Members[0].Executor} })
	listeners, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- n.Serve(t.Context(), n.API(), listeners) }()
	var clients sync.WaitGroup
	for _, stream := range []string{"true", "false"} {
		clients.Go(func() {
			answer, err := http.Post("http://"+listeners.API.Addr().String()+"/v1/completions", "application/json",
				strings.NewReader(`{"prompt": "Once", "stream": `+stream+`}`))
			if err != nil {
				t.Errorf("stream %s: %v", stream, err)
				return
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil || !strings.Contains(string(body), `"shutting_down"`) {
				t.Errorf("stream %s: status %d, %s, %v", stream, answer.StatusCode, body, err)
			}
		})
	}
	for n.Meter.Value(messages.RequestsOpen) < 2 {
		time.Sleep(time.Millisecond)
	}
	gone := errors.New("the device is gone")
	n.Fatal <- gone
	clients.Wait()
	if err := <-served; !errors.Is(err, gone) {
		t.Errorf("it ended with %v", err)
	}
}

// slow takes ten milliseconds for every step.
type slow struct{ runner.Executor }

func (s slow) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	s.Executor.Submit(b, func(d *messages.BatchDone, err error) { time.AfterFunc(10*time.Millisecond, func() { done(d, err) }) })
}
