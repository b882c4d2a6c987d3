package node

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// BenchmarkStepsInFlight compares one and two steps in flight on the CPU device
// with the embedded model, turn by turn in one run, so that the load of the
// machine meets both alike. "length" ends every request at its length, which is
// known ahead; "eos" lets texts end where they end, which costs a row of the
// step that was launched already.
func BenchmarkStepsInFlight(b *testing.B) {
	for _, ends := range []string{"length", "eos"} {
		for _, rows := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/rows=%d", ends, rows), func(b *testing.B) {
				var nodes [2]*Node
				for i := range nodes {
					c := settings(b)
					c.DisableOverlap, c.MaxTotalTokens, c.DisableRadixCache = i == 0, 1<<16, true
					nodes[i] = open(b, c, nil)
				}
				turn := func(i, seed int) time.Duration {
					start := time.Now()
					n := generate(b, nodes[i], rows, seed, ends == "length")
					return time.Since(start) / time.Duration(n)
				}
				for i := range nodes { // memory is touched, workers are up
					turn(i, 0)
				}
				var one, two time.Duration
				var ratios []float64
				for seed := 1; b.Loop(); seed++ {
					var took [2]time.Duration
					took[seed%2] = turn(seed%2, seed)
					took[1-seed%2] = turn(1-seed%2, seed)
					one, two = one+took[0], two+took[1]
					ratios = append(ratios, float64(took[0])/float64(took[1]))
				}
				slices.Sort(ratios)
				b.ReportMetric(float64(len(ratios))/one.Seconds(), "tok/s-one")
				b.ReportMetric(float64(len(ratios))/two.Seconds(), "tok/s-two")
				b.ReportMetric(ratios[len(ratios)/2], "ratio")
			})
		}
	}
}

// generate lets a node answer so many requests at once and returns how many
// tokens it made.
func generate(b *testing.B, n *Node, requests, seed int, wholeLength bool) (tokens int) {
	events := make(chan messages.CallEvent, requests+8)
	m := &messages.SubmitRequests{Call: messages.CallID(seed + 1), UserID: fmt.Sprint(seed), Events: events}
	for i := range requests {
		params := &messages.SamplingParams{Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: uint64(seed*1000 + i), MaxTokens: 60,
			EOSTokenIDs: n.EOS(), IgnoreEOS: wholeLength, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
		m.Requests = append(m.Requests, messages.Submission{Prompt: []int32{1, int32(10 + i), int32(20 + seed%100)}, Params: params, After: -1})
	}
	n.Engine.Send(m)
	for open := requests; open > 0; {
		switch e := (<-events).(type) {
		case *messages.CallRefused:
			b.Fatalf("refused: %s", e.Message)
		case *messages.CallOutput:
			if e.Paused {
				n.Engine.Send(&messages.ResumeOutput{Call: e.Call})
			}
			tokens += len(e.Tokens)
			if e.Finish != nil {
				open--
			}
		}
	}
	return tokens
}
