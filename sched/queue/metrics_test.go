package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// readings are the values of one metric in an outbox.
func readings(out *messages.Outbox, metric messages.Metric) (values []float64) {
	for _, r := range out.Readings {
		if r.Metric == metric {
			values = append(values, r.Value)
		}
	}
	return values
}

func TestQueueMetrics(t *testing.T) {
	q, out := New(Options{SchedulePolicy: "lof", Aging: time.Minute}), messages.Outbox{}
	params := &messages.SamplingParams{MaxTokens: 5, PromptLogprobs: messages.NoLogprobs}
	q.Handle(0, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{
		{ID: 1, Prompt: make([]int32, 3), Arrived: time.Second, Params: params},
		{ID: 2, Prompt: make([]int32, 3), Arrived: 2 * time.Second, Params: params},
		{ID: 3, Prompt: make([]int32, 3), Output: make([]int32, 2), Arrived: time.Second, Params: params},
	}}, &out)
	if got := readings(&out, messages.TokensWaiting); !slices.Equal(got, []float64{11}) {
		t.Errorf("waiting tokens %v, want 11", got)
	}
	for _, c := range []struct {
		now  time.Duration
		aged []float64
	}{
		{60 * time.Second, nil},          // none has waited for a minute
		{61 * time.Second, []float64{2}}, // 1 and 3 are
		{61 * time.Second, nil},          // and were counted
		{63 * time.Second, []float64{1}}, // 2 is, too
	} {
		out.Reset()
		q.Handle(c.now, &messages.OfferCandidates{Plan: 1, Limit: 3}, &out)
		if got := readings(&out, messages.RequestsAged); !slices.Equal(got, c.aged) {
			t.Errorf("after %v: %v aged, want %v", c.now, got, c.aged)
		}
	}
	out.Reset()
	q.Handle(64*time.Second, &messages.ClaimCandidates{IDs: []messages.RequestID{1, 2, 3, 4}}, &out)
	if got := readings(&out, messages.QueueTime); !slices.Equal(got, []float64{63, 62}) {
		t.Errorf("time in the queue %v, want 63 and 62 s: request 3 was taken before a crash, 4 is not there", got)
	}
	if got := readings(&out, messages.RequestsWaiting); !slices.Equal(got, []float64{0}) {
		t.Errorf("%v wait, want 0", got)
	}
}
