package sources

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// engine is the real queue, batch former, cache and allocator, over a device
// that records its steps.
type engine struct {
	t      *testing.T
	p      *printer
	queue  *queue.Core
	former *former.Core
	cache  *radix.Core
	alloc  *pages.Core
	out    messages.Outbox
	names  map[messages.RequestID]string
	rows   map[messages.Row]*messages.EngineRequest
	ended  map[messages.RequestID]bool
	parts  map[messages.RequestID]int // computed of a prompt that is cut
	opened []string                   // requests that got a row
	step   *messages.RunBatch         // that runs
}

func newEngine(t *testing.T, p *printer, opt former.Options) *engine {
	return &engine{
		t: t, p: p, queue: queue.New(queue.Options{}), former: former.New(opt),
		cache: radix.New(radix.Options{PageSize: opt.PageSize, Disabled: opt.CacheDisabled}),
		alloc: pages.New(pages.Options{Pages: opt.Pages}),
		names: map[messages.RequestID]string{}, rows: map[messages.Row]*messages.EngineRequest{},
		ended: map[messages.RequestID]bool{}, parts: map[messages.RequestID]int{},
	}
}

// arrive puts requests into the waiting queue.
func (e *engine) arrive(requests ...*messages.EngineRequest) {
	var names []string
	for _, r := range requests {
		names = append(names, e.names[r.ID])
	}
	e.p.line("%s: arrived", strings.Join(names, ", "))
	e.deliver(messages.Queue, &messages.EnqueueRequests{Header: messages.Header{Epoch: 1}, Requests: requests})
}

// request makes a request whose tokens share nothing.
func (e *engine) request(name string, prompt, output int) *messages.EngineRequest {
	id := messages.RequestID(len(e.names) + 1)
	e.names[id] = name
	tokens := make([]int32, prompt)
	for i := range tokens {
		tokens[i] = int32(id)*1000 + int32(i)
	}
	return &messages.EngineRequest{ID: id, Prompt: tokens, Params: &messages.SamplingParams{
		MaxTokens: output, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}
}

// finish ends the step that runs; the next one is planned at once.
func (e *engine) finish() {
	done := &messages.BatchDone{Header: messages.Header{Epoch: 1}, Step: e.step.Step}
	for _, w := range e.step.Work {
		if w.Sample > 0 {
			done.Sampled = append(done.Sampled, messages.SampledToken{Row: w.Row, Token: 7})
		}
	}
	e.deliver(messages.Former, done)
}

// deliver carries a message and all that follow from it, in order.
func (e *engine) deliver(to messages.Actor, msg any) {
	for mail := []messages.Send{{To: to, Msg: msg}}; len(mail) > 0; mail = mail[1:] {
		switch m := mail[0].Msg; mail[0].To {
		case messages.Queue:
			e.queue.Handle(0, m.(messages.ToQueue), &e.out)
		case messages.Former:
			e.former.Handle(0, m.(messages.ToFormer), &e.out)
		case messages.Cache:
			e.cache.Handle(0, m.(messages.ToCache), &e.out)
		case messages.Allocator:
			e.alloc.Handle(0, m.(messages.ToAllocator), &e.out)
		case messages.Runner:
			e.launched(m.(*messages.RunBatch))
		case messages.Intake:
			if results, ok := m.(*messages.StepResults); ok {
				e.heard(results)
			}
		case messages.Supervisor:
			e.t.Fatalf("the engine gets %+v", m)
		}
		mail = append(mail, e.out.Sends...)
		e.out.Reset()
	}
}

// heard prints the requests that ended first. What comes then is not in the figure;
// only opened has it.
func (e *engine) heard(m *messages.StepResults) {
	for _, end := range m.Ended {
		e.ended[end.ID] = true
		if len(e.ended) == 1 {
			e.p.line("%s: ended", e.names[end.ID])
			e.p, e.opened = &printer{}, nil
		}
	}
}

// launched prints a step: requests that lost their row without an end, that decode, and whose
// prompt is computed; parts of a prompt are a, b and so on, as in the figure.
func (e *engine) launched(step *messages.RunBatch) {
	e.step = step
	for _, row := range step.Closed {
		id := e.rows[row].ID
		delete(e.rows, row)
		if !e.ended[id] {
			e.p.line("%s: retracted", e.names[id])
		}
	}
	for _, o := range step.Opened {
		e.rows[o.Row] = o.Request
		e.opened = append(e.opened, e.names[o.Request.ID])
	}
	var decode, prefill []string
	for _, w := range step.Work {
		r := e.rows[w.Row]
		if w.Start >= len(r.Prompt) {
			decode = append(decode, e.names[r.ID])
		} else {
			name := e.names[r.ID]
			if w.Count < len(r.Prompt) {
				name += string(rune('a' + e.parts[r.ID]))
				e.parts[r.ID]++
			}
			prefill = append(prefill, name)
		}
	}
	slices.Sort(decode)
	slices.Sort(prefill)
	e.p.line("step %d: decode {%s}, prefill {%s}", step.Step, strings.Join(decode, ", "), strings.Join(prefill, ", "))
}

// schedulerOverview is the figure of the scheduler article: requests 0 and 1 and
// the first chunk of 5 are the last batch, 6 waits and 7 arrives. 0 and 1 are
// merged into the running batch and decode, which 5's chunk does not. 6 and 5's
// next chunk are the new batch. The pool is too small for all, so 0, admitted
// last, is retracted. 6 ends, 5 is not through. Here batches are mixed, so that
// decoding goes on beside prompts, and 6 needs two steps for its prompt.
func schedulerOverview(t *testing.T, p *printer) {
	e := newEngine(t, p, former.Options{PageSize: 1, Pages: 146, MaxRunning: 4, ChunkedPrefillSize: 48, ContextLength: 400,
		CacheDisabled: true, InitNewTokenRatio: 0.01})
	e.arrive(e.request("1", 4, 6), e.request("0", 4, 8), e.request("5", 88, 2))
	e.arrive(e.request("6", 47, 1))
	e.arrive(e.request("7", 4, 2))
	for n := 0; len(e.ended) < len(e.names); n++ {
		if n > 50 {
			t.Fatal("the requests do not end")
		}
		e.finish()
	}
	// Retracted requests go before those that were never admitted.
	p.line("then: %s", strings.Join(e.opened, ", "))
}
