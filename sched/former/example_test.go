package former_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// engine wires four cores by hand: a message goes to the core of its receiver, and
// what that sends goes on in the same way. Intake and the device are the example.
type engine struct {
	queue  *queue.Core
	former *former.Core
	cache  *radix.Core
	alloc  *pages.Core
	step   *messages.RunBatch // that the device computes
}

func (e *engine) send(to messages.Actor, msg any) {
	var out messages.Outbox
	switch to {
	case messages.Queue:
		e.queue.Handle(0, msg.(messages.ToQueue), &out)
	case messages.Former:
		e.former.Handle(0, msg.(messages.ToFormer), &out)
	case messages.Cache:
		e.cache.Handle(0, msg.(messages.ToCache), &out)
	case messages.Allocator:
		e.alloc.Handle(0, msg.(messages.ToAllocator), &out)
	case messages.Runner:
		e.step = msg.(*messages.RunBatch)
		fmt.Printf("step %d\n", e.step.Step)
		for _, w := range e.step.Work {
			fmt.Printf("  row %d computes %d tokens from position %d\n", w.Row, w.Count, w.Start)
		}
	case messages.Intake:
		for _, t := range msg.(*messages.StepResults).Tokens {
			fmt.Printf("  request %d gets token %d\n", t.ID, t.Token)
		}
		for _, end := range msg.(*messages.StepResults).Ended {
			fmt.Printf("  request %d ends: %s\n", end.ID, end.Reason)
		}
	}
	for _, s := range out.Sends {
		e.send(s.To, s.Msg)
	}
}

// compute is the device: it samples the token 40 for row 0, 41 for row 1.
func (e *engine) compute() {
	done := &messages.BatchDone{Step: e.step.Step}
	for _, w := range e.step.Work {
		if w.Sample > 0 {
			done.Sampled = append(done.Sampled, messages.SampledToken{Row: w.Row, Token: 40 + int32(w.Row)})
		}
	}
	e.step = nil
	e.send(messages.Former, done)
}

// Two requests on an engine with 16 pages of 4 tokens. The second one arrives while
// step 2 runs and begins with the same 4 tokens as the first. These are a page that
// is in the cache by then, so it computes its other 3 tokens only. In step 3 it is
// in prefill beside the first one, which decodes.
func Example() {
	e := &engine{
		queue:  queue.New(queue.Options{}),
		former: former.New(former.Options{PageSize: 4, Pages: 16, MaxRunning: 2, ContextLength: 64}),
		cache:  radix.New(radix.Options{PageSize: 4}),
		alloc:  pages.New(pages.Options{Pages: 16}),
	}
	enqueue := func(id messages.RequestID, output int, prompt ...int32) {
		e.send(messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{{ID: id, Prompt: prompt,
			Params: &messages.SamplingParams{MaxTokens: output, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}}})
	}
	enqueue(1, 4, 1, 2, 3, 4, 5, 6)
	e.compute()
	enqueue(2, 1, 1, 2, 3, 4, 7, 8, 9)
	for e.step != nil {
		e.compute()
	}
	fmt.Printf("running: %d, free: %d, cached: %d pages\n", e.former.Load().Running, e.alloc.Free(), e.cache.Tree().Evictable())
	// Output:
	// step 1
	//   row 0 computes 6 tokens from position 0
	//   request 1 gets token 40
	// step 2
	//   row 0 computes 1 tokens from position 6
	//   request 1 gets token 40
	// step 3
	//   row 0 computes 1 tokens from position 7
	//   row 1 computes 3 tokens from position 4
	//   request 1 gets token 40
	//   request 2 gets token 41
	//   request 2 ends: length
	// step 4
	//   row 0 computes 1 tokens from position 8
	//   request 1 gets token 40
	//   request 1 ends: length
	// running: 0, free: 14, cached: 2 pages
}
