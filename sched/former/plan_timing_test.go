package former

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
)

// loop is queue, batch former, cache and allocator in a direct loop, with a
// device that answers at once.
type loop struct {
	queue  *queue.Core
	former *Core
	cache  *radix.Core
	alloc  *pages.Core
	out    messages.Outbox
	mail   []messages.Send
	steps  []*messages.RunBatch // that run, oldest first
	done   messages.BatchDone
}

func newLoop(running int) *loop { return newLoopOf(running, 1, 16) }

// newLoopOf makes a loop with a number of steps in flight, and pages for 16384 tokens
// of each row.
func newLoopOf(running, inFlight, pageSize int) *loop {
	const context = 1 << 20
	total := running * 16384 / pageSize
	return &loop{
		queue: queue.New(queue.Options{}),
		former: New(Options{PageSize: pageSize, Pages: total, MaxRunning: running, ContextLength: context,
			ChunkedPrefillSize: 1 << 20, MaxPrefillTokens: 1 << 20, StepsInFlight: inFlight}),
		cache: radix.New(radix.Options{PageSize: pageSize}),
		alloc: pages.New(pages.Options{Pages: total}),
	}
}

// settle delivers until nothing is left but steps.
func (l *loop) settle() {
	for i := 0; i < len(l.mail); i++ {
		m := l.mail[i]
		switch m.To {
		case messages.Queue:
			l.queue.Handle(0, m.Msg.(messages.ToQueue), &l.out)
		case messages.Former:
			l.former.Handle(0, m.Msg.(messages.ToFormer), &l.out)
		case messages.Cache:
			l.cache.Handle(0, m.Msg.(messages.ToCache), &l.out)
		case messages.Allocator:
			l.alloc.Handle(0, m.Msg.(messages.ToAllocator), &l.out)
		case messages.Intake:
			if r, ok := m.Msg.(*messages.StepResults); ok { // intake is done with it at once
				l.mail = append(l.mail, messages.Send{To: messages.Former, Msg: r})
			}
		case messages.Runner:
			l.steps = append(l.steps, m.Msg.(*messages.RunBatch))
		}
		l.mail = append(l.mail, l.out.Sends...)
		l.out.Reset()
	}
	clear(l.mail)
	l.mail = l.mail[:0]
}

func (l *loop) send(to messages.Actor, msg any) {
	l.mail = append(l.mail, messages.Send{To: to, Msg: msg})
	l.settle()
}

// compute answers the oldest step; the tokens differ, so that nothing ends or repeats.
func (l *loop) compute() {
	sampled := l.done.Sampled[:0]
	step := l.steps[0]
	copy(l.steps, l.steps[1:])
	l.steps = l.steps[:len(l.steps)-1]
	for i, w := range step.Work {
		if w.Sample > 0 {
			sampled = append(sampled, messages.SampledToken{Row: w.Row, Token: int32(i)})
		}
	}
	l.done = messages.BatchDone{Step: step.Step, Sampled: sampled}
	l.send(messages.Former, &l.done)
}

// fill admits running requests of one prompt each.
func (l *loop) fill(running, prompt int) {
	m := &messages.EnqueueRequests{}
	for i := range running {
		tokens := make([]int32, prompt)
		for p := range tokens {
			tokens[p] = int32(i*7 + p)
		}
		m.Requests = append(m.Requests, &messages.EngineRequest{ID: messages.RequestID(i + 1), Prompt: tokens,
			Params: &messages.SamplingParams{MaxTokens: 12000, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}})
	}
	l.send(messages.Queue, m)
	for l.former.Load().Running < running {
		l.compute()
	}
}

// BenchmarkDecodeStep is the planning of a step of decoding rows: results,
// pages for one row in sixteen, or for each row where a page is one token, and
// RunBatch.
func BenchmarkDecodeStep(b *testing.B) {
	for _, pageSize := range []int{16, 1} {
		for _, inFlight := range []int{1, 2} {
			for _, running := range []int{1, 64, 256, 2048} {
				b.Run(fmt.Sprintf("page=%d/flight=%d/running=%d", pageSize, inFlight, running), func(b *testing.B) {
					b.ReportAllocs()
					l := newLoopOf(running, inFlight, pageSize)
					l.fill(running, 100)
					left := 10000
					for b.Loop() {
						if left--; left == 0 {
							b.StopTimer()
							l = newLoopOf(running, inFlight, pageSize)
							l.fill(running, 100)
							left = 10000
							b.StartTimer()
						}
						l.compute()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(running), "ns/row")
				})
			}
		}
	}
}

// BenchmarkTurnover is a request's whole way while 63 others decode: enqueue,
// admission, prefill, insertion, end.
func BenchmarkTurnover(b *testing.B) {
	b.ReportAllocs()
	l := newLoop(64)
	l.fill(63, 100)
	id := messages.RequestID(1000)
	prompt := make([]int32, 512)
	params := &messages.SamplingParams{MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	left := 5000
	for b.Loop() {
		if left--; left == 0 {
			b.StopTimer()
			l = newLoop(64)
			l.fill(63, 100)
			left = 5000
			b.StartTimer()
		}
		id++
		prompt[256] = int32(id)
		l.send(messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{{ID: id, Prompt: prompt, Params: params}}})
		l.compute()
		l.compute()
	}
}

// A step of decoding rows allocates nothing, however many rows there are and
// whether they need pages or not.
func TestDecodeStepAllocations(t *testing.T) {
	for _, running := range []int{1, 64, 256} {
		for _, inFlight := range []int{1, 2} {
			for _, pageSize := range []int{1, 16} {
				l := newLoopOf(running, inFlight, pageSize)
				l.fill(running, 100)
				if l.former.opt.AuditEveryStep {
					t.Skip("this build audits every step")
				}
				for _, s := range l.former.batch.running { // no growth of the sequences meanwhile
					s.tokens = append(make([]int32, 0, 1000), s.tokens...)
					s.lease.Pages = append(make([]messages.Page, 0, 1000), s.lease.Pages...)
				}
				for range 40 { // until every message has its memory
					l.compute()
				}
				if got := testing.AllocsPerRun(100, l.compute); got > 0 {
					t.Errorf("%d rows, %d steps in flight, pages of %d: %.1f allocations per step", running, inFlight, pageSize, got)
				}
			}
		}
	}
}

// BenchmarkLongPrompt is the planning of a prompt in many chunks, each of which
// goes to the cache: per token it costs as much as a short one's.
func BenchmarkLongPrompt(b *testing.B) {
	for _, tokens := range []int{1 << 13, 1 << 17} {
		b.Run(fmt.Sprintf("tokens=%d", tokens), func(b *testing.B) {
			b.ReportAllocs()
			const chunk = 512
			prompt := make([]int32, tokens)
			params := &messages.SamplingParams{MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
			l := newLoopOf(16, 1, 1) // pages for two of the longest
			l.former.opt.ChunkedPrefillSize, l.former.opt.MaxPrefillTokens = chunk, chunk
			id := messages.RequestID(0)
			for b.Loop() {
				id++
				prompt[0] = int32(id)
				l.send(messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{{ID: id, Prompt: prompt, Params: params}}})
				for l.former.Load().Running > 0 {
					l.compute()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
		})
	}
}
