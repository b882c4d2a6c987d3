package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
)

// nothing is an executor that costs nothing: every row gets the same token, at
// once or after a while. What a step takes is then what the actors and their
// messages take.
type nothing struct {
	takes time.Duration // a step; a thread is busy meanwhile
	// quota is how many steps it answers; the benchmark waits for the last.
	quota chan int
	left  int
	last  chan struct{}
	// answers are used in turns, as an executor may.
	answers [2]messages.BatchDone
	rows    int // of the last step
}

func (*nothing) Reset(func(messages.RequestID)) {}
func (*nothing) Quiesce(done func())            { done() }

// Submit runs on the runner's mailbox only.
func (e *nothing) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	answer := &e.answers[b.Step%2]
	e.rows = len(b.Work)
	*answer = messages.BatchDone{Header: messages.Header{Epoch: b.Epoch}, Step: b.Step, Sampled: answer.Sampled[:0]}
	for i := range b.Work {
		if b.Work[i].Sample > 0 {
			answer.Sampled = append(answer.Sampled, messages.SampledToken{Row: b.Work[i].Row, Token: 7})
		}
	}
	if e.left--; e.left >= 0 && e.takes == 0 {
		done(answer, nil)
		return
	} else if e.left >= 0 {
		go func() {
			for start := time.Now(); time.Since(start) < e.takes; {
			}
			done(answer, nil)
		}()
		return
	}
	e.last <- struct{}{} // hold the step until the benchmark continues
	go func() {
		e.left = <-e.quota
		done(answer, nil)
	}()
}

// steady starts an engine in which rows requests decode without an end, with so
// many steps in flight, each of which takes so long.
func steady(b *testing.B, rows int, stream bool, inFlight int, takes time.Duration) *nothing {
	b.Helper()
	return steadyWith(b, rows, 16, stream, inFlight, takes, nil)
}

func steadyWith(b *testing.B, rows, pageSize int, stream bool, inFlight int, takes time.Duration, change func(*Spec)) *nothing {
	b.Helper()
	// Enough for as many steps as fit into a second or two.
	const context = 1 << 20
	pages := 1 << 26 / pageSize
	device := &nothing{takes: takes, quota: make(chan int), last: make(chan struct{})}
	h := start(b, setup{pageSize: pageSize, pages: 16, maxRunning: rows, chunk: -1, inFlight: inFlight}, func(s *Spec) {
		s.Members[0].Executor = device
		s.Batch.Pages, s.Alloc.Pages = pages, pages
		s.Batch.AuditEveryStep = false
		s.Batch.ContextLength = context
		s.Intake = silentIntake(context, rows)
		if change != nil {
			change(s)
		}
	})
	for i := range rows {
		params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: context, IgnoreEOS: true, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
		events := h.submit(messages.Submission{Prompt: []int32{int32(i % 500), int32(i / 500), 3, 4}, Params: params, After: -1, Stream: stream})
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
	for device.rows < rows { // until every request decodes
		device.quota <- 1
		<-device.last
	}
	b.Cleanup(func() {
		h.Send(&messages.AbortRequests{All: true})
		device.quota <- 1 << 30
	})
	return device
}

// BenchmarkPlanningPerDecodeStep is the cost of a step without the device: queue,
// batch former, cache, allocator, runner and the messages between them. Intake gets
// its message without tokens: BenchmarkIntakeStep in request measures those, and
// BenchmarkFanOut everything. It is processor time, so other processes do not count.
func BenchmarkPlanningPerDecodeStep(b *testing.B) {
	for _, pageSize := range []int{16, 1} {
		for _, rows := range []int{1, 64, 256, 2048} {
			b.Run(fmt.Sprintf("page=%d/running=%d", pageSize, rows), func(b *testing.B) {
				device := steadyWith(b, rows, pageSize, false, 1, 0, func(s *Spec) {
					s.Intercept = func(role messages.Actor, msg any) {
						if r, ok := msg.(*messages.StepResults); ok && role == messages.Intake {
							r.Tokens = r.Tokens[:0]
						}
					}
				})
				b.ReportAllocs()
				b.ResetTimer()
				before := measure.CPUTime()
				device.quota <- b.N
				<-device.last
				took := measure.CPUTime() - before
				b.StopTimer()
				b.ReportMetric(float64(took.Nanoseconds())/1e3/float64(b.N), "cpu-us/step")
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/float64(rows), "cpu-ns/token")
			})
		}
	}
}

// BenchmarkOverlap compares one and two steps in flight, in short turns of one
// run, over devices that take so long for a step: how much of the planning is
// hidden. The ratio is the median of the pairs of turns.
func BenchmarkOverlap(b *testing.B) {
	for _, takes := range []time.Duration{20 * time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
		for _, rows := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("step=%v/rows=%d", takes, rows), func(b *testing.B) {
				const steps = 50
				devices := [2]*nothing{steady(b, rows, false, 1, takes), steady(b, rows, false, 2, takes)}
				var sum [2]time.Duration
				var ratios []float64
				for turn := 0; b.Loop(); turn++ {
					var took [2]time.Duration
					for i := range devices {
						at := (i + turn) % 2
						start := time.Now()
						devices[at].quota <- steps
						<-devices[at].last
						took[at] = time.Since(start)
						sum[at] += took[at]
					}
					ratios = append(ratios, float64(took[0])/float64(took[1]))
				}
				slices.Sort(ratios)
				n := float64(len(ratios) * steps)
				b.ReportMetric(float64(sum[0].Microseconds())/n, "us/step-one")
				b.ReportMetric(float64(sum[1].Microseconds())/n, "us/step-two")
				b.ReportMetric(ratios[len(ratios)/2], "ratio")
			})
		}
	}
}

// BenchmarkFanOut is the same with every client streaming: what a token costs
// from the device to the client's channel.
func BenchmarkFanOut(b *testing.B) {
	for _, rows := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("streams=%d", rows), func(b *testing.B) {
			device := steady(b, rows, true, 1, 0)
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
		s.Members[0].Executor = device
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
