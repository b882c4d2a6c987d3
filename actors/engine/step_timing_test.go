package engine

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
)

// nothing is an executor that costs nothing: every row gets the same token at
// once. What a step takes is then what the actors and their messages take.
type nothing struct {
	// quota is how many steps it answers; the benchmark waits for the last.
	quota chan int
	left  int
	last  chan struct{}
}

func (*nothing) Reset()              {}
func (*nothing) Quiesce(done func()) { done() }

// Submit runs on the runner's mailbox only.
func (e *nothing) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	answer := &messages.BatchDone{Epoch: b.Epoch, Step: b.Step, Sampled: make([]messages.SampledToken, 0, len(b.Work))}
	for i := range b.Work {
		if b.Work[i].Sample {
			answer.Sampled = append(answer.Sampled, messages.SampledToken{Row: b.Work[i].Row, Token: 7})
		}
	}
	if e.left--; e.left >= 0 {
		done(answer, nil)
		return
	}
	e.last <- struct{}{} // hold the step until the benchmark wants more
	go func() {
		e.left = <-e.quota
		done(answer, nil)
	}()
}

// steady starts an engine in which rows requests decode without an end.
func steady(b *testing.B, rows int, stream bool) *nothing {
	b.Helper()
	// Enough for as many steps as fit into a second or two.
	const context, pages = 1 << 20, 1 << 20
	device := &nothing{quota: make(chan int), last: make(chan struct{})}
	h := start(b, setup{pageSize: 16, pages: 1, maxRunning: rows, chunk: -1}, func(s *Spec) {
		s.Executor = device
		s.Batch.Pages, s.Alloc.Pages = pages, pages
		s.Batch.AuditEveryStep = false
		s.Batch.ContextLength = context
		s.Intake = silentIntake(context, rows)
	})
	for i := range rows {
		params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: context, IgnoreEOS: true, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
		events := h.submit(messages.Submission{Prompt: []int32{int32(i), 2, 3, 4}, Params: params, After: -1, Stream: stream})
		go func() { // a client that reads; it ends with the call, by an abort
			for event := range events {
				if o, ok := event.(*messages.CallOutput); ok {
					if o.Paused {
						h.Send(&messages.ResumeOutput{Call: o.Call})
					}
					if o.Finish != nil {
						return
					}
				}
			}
		}()
	}
	<-device.last
	for range rows + 10 { // until every request decodes
		device.quota <- 1
		<-device.last
	}
	b.Cleanup(func() {
		h.Send(&messages.AbortRequests{All: true})
		device.quota <- 1 << 30
	})
	return device
}

// BenchmarkPlanningPerDecodeStep is what a step costs beside the device: queue,
// batch former, cache, allocator, runner, intake, and the messages between them.
// Its target is 1 % of a 10 ms step: 100 us.
func BenchmarkPlanningPerDecodeStep(b *testing.B) {
	for _, rows := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("running=%d", rows), func(b *testing.B) {
			device := steady(b, rows, false)
			b.ReportAllocs()
			b.ResetTimer()
			device.quota <- b.N
			<-device.last
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/token")
		})
	}
}

// BenchmarkFanOut is the same with every client streaming: what a token costs
// from the device to the client's channel.
func BenchmarkFanOut(b *testing.B) {
	for _, rows := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("streams=%d", rows), func(b *testing.B) {
			device := steady(b, rows, true)
			b.ReportAllocs()
			b.ResetTimer()
			device.quota <- b.N
			<-device.last
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/token")
		})
	}
}

// BenchmarkRequest is the whole life of a request of one token: intake, queue,
// prefix lock, admission, step, release.
func BenchmarkRequest(b *testing.B) {
	device := &nothing{quota: make(chan int), last: make(chan struct{}), left: 1 << 60}
	h := start(b, setup{pageSize: 16, pages: 4096, maxRunning: 64, chunk: -1}, func(s *Spec) {
		s.Executor = device
		s.Batch.AuditEveryStep = false
	})
	sub := prompts(1)
	b.ReportAllocs()
	for b.Loop() {
		events := h.submit(sub...)
		<-events // accepted
		<-events // and its only output
	}
}

// silentIntake has a table for long contexts and text that costs nothing.
func silentIntake(context, rows int) intake.Options {
	return intake.Options{Detokenizer: silence{}, Table: request.NewTable(request.TableOptions{
		ContextLength: context, PoolTokens: context, Vocab: 500, MaxOpenRequests: rows + 1})}
}

type silence struct{}

func (silence) NewStream([]int32, bool, bool) request.Stream { return silence{} }
func (silence) Push(int32) string                            { return "x" }
func (silence) Flush() string                                { return "" }
