package node

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/messages"
)

// BenchmarkStepsInFlight compares one and two steps in flight on the CPU device
// with the embedded model, turn by turn in one run, so that other load on the
// machine affects both equally. "length" ends every request at its length, which is
// known ahead; "eos" ends texts at EOS, which wastes a row of the
// step that is already in flight.
func BenchmarkStepsInFlight(b *testing.B) {
	for _, ends := range []string{"length", "eos"} {
		for _, rows := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/rows=%d", ends, rows), func(b *testing.B) {
				var nodes [2]*Node
				for i := range nodes {
					c := settings(b)
					c.DisableOverlap, c.Pool.MaxTotalTokens, c.DisableRadixCache = i == 0, 1<<16, true
					nodes[i] = open(b, c, nil)
				}
				turn := func(i, seed int) cost {
					wall, cpu := time.Now(), measure.CPUTime()
					n := time.Duration(generate(b, nodes[i], rows, seed, ends == "length"))
					return cost{time.Since(wall) / n, (measure.CPUTime() - cpu) / n}
				}
				for i := range nodes { // memory is touched, workers are up
					turn(i, 0)
				}
				var sum [2]cost
				var wall, cpu []float64
				for seed := 1; b.Loop(); seed++ {
					var took [2]cost
					took[seed%2] = turn(seed%2, seed)
					took[1-seed%2] = turn(1-seed%2, seed)
					for i := range sum {
						sum[i] = cost{sum[i].wall + took[i].wall, sum[i].cpu + took[i].cpu}
					}
					wall = append(wall, float64(took[0].wall)/float64(took[1].wall))
					cpu = append(cpu, float64(took[0].cpu)/float64(took[1].cpu))
				}
				b.ReportMetric(float64(len(wall))/sum[0].wall.Seconds(), "tok/s-one")
				b.ReportMetric(float64(len(wall))/sum[1].wall.Seconds(), "tok/s-two")
				b.ReportMetric(float64(sum[0].cpu.Nanoseconds())/float64(len(wall)), "cpu-ns/tok-one")
				b.ReportMetric(float64(sum[1].cpu.Nanoseconds())/float64(len(wall)), "cpu-ns/tok-two")
				b.ReportMetric(median(wall), "tok/s-ratio")
				b.ReportMetric(median(cpu), "cpu-ratio")
			})
		}
	}
}

// cost is the time per token.
type cost struct{ wall, cpu time.Duration }

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// generate sends n requests at once and returns the number of generated tokens.
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
