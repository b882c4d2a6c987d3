package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// idle is an executor that never finishes a step.
type idle struct{ runner.Executor }

func (idle) Submit(*messages.RunBatch, func(*messages.BatchDone, error)) {}

// An engine that gives up while it drains ends the process at once and with the
// reason: what is open would be waited for in vain.
func TestAnEngineThatGivesUpIsNotDrained(t *testing.T) {
	c := settings(t)
	c.Port, c.DrainTimeout = 0, time.Hour
	n := open(t, c, func(spec *engine.Spec) { spec.Executor = idle{spec.Executor} })
	api := n.API()
	listener, err := api.Listen()
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
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits for the open request")
	}
}
