package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// The most and longest stop strings that the API accepts would block intake for a tenth
// of a second per call.
func TestStopStringsAreBoundedTogether(t *testing.T) {
	n := open(t, settings(t), nil)
	var stops []string
	for i := range 64 {
		stops = append(stops, fmt.Sprintf("%02d%s", i, strings.Repeat("a", 4094)))
	}
	events := make(chan messages.CallEvent, 4)
	n.Engine.Send(&messages.SubmitRequests{Call: 1, Events: events, Requests: []messages.Submission{{
		Prompt: []int32{1}, After: -1, Stop: stops,
		Params: &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs},
	}}})
	refused, ok := (<-events).(*messages.CallRefused)
	if !ok || refused.Kind != messages.RefusedInvalid || refused.Param != "stop" {
		t.Errorf("got %+v", refused)
	}
}
