package replay

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// engine is one replica: four cores, a runner and a device.
type engine struct {
	id     int
	world  *world
	queue  *queue.Core
	former *former.Core
	cache  *radix.Core
	alloc  *pages.Core
	runner runner

	mail    []envelope // from mail[next] on not delivered
	next    int
	out     messages.Outbox
	seq     uint64 // of the newest StepResults
	failure error
	warning string // the last one that a core has noted for the log

	open map[messages.RequestID]*open

	// From the cores' readings.
	waiting, waitingTokens, running int
	counts                          counts
	counted                         gauges // those that the world has added up
}

// gauges are an engine's share of the world's sums.
type gauges struct{ waiting, waitingTokens, running int }

// envelope is a message on its way.
type envelope struct {
	to  messages.Actor
	msg any
}

// counts are totals of an engine.
type counts struct {
	requests, ended                     int
	promptTokens, cachedTokens, outputs int
	steps, retractions                  int
	evictedTokens                       int
	auditsFailed                        int
}

// open is a request that has not ended, as intake knows it.
type open struct {
	arrived time.Duration
	last    time.Duration // of its newest token; 0 before the first one
	prompt  int
	output  int // wanted
	got     int
}

func newEngine(w *world, id int, pool pool.Plan, costs *costmodel.Costs) *engine {
	opt := &w.opt
	return &engine{
		id: id, world: w,
		queue:  queue.New(opt.queue()),
		former: former.New(opt.former(pool)),
		cache:  radix.New(opt.cache(pool)),
		alloc:  pages.New(pages.Options{Pages: pool.Pages}),
		runner: newRunner(costs, pool.MaxRunning),
		open:   map[messages.RequestID]*open{},
	}
}

// submit puts a request into the queue.
func (e *engine) submit(now time.Duration, r *messages.EngineRequest, arrived time.Duration) error {
	e.open[r.ID] = &open{arrived: arrived, prompt: len(r.Prompt), output: r.Params.MaxTokens}
	e.counts.requests++
	return e.deliver(now, envelope{messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{r}}})
}

// complete is what the device does when its oldest step is over.
func (e *engine) complete(now time.Duration) error {
	return e.deliver(now, envelope{messages.Former, e.runner.complete()})
}

// deliver carries a message and everything that follows from it at this time
// to the cores, in the order of sending.
func (e *engine) deliver(now time.Duration, first envelope) error {
	e.mail, e.next = append(e.mail[:0], first), 0
	for e.next < len(e.mail) && e.failure == nil {
		m := e.mail[e.next]
		e.next++
		e.step(now, m)
		for i := range e.out.Readings {
			e.read(&e.out.Readings[i])
		}
		for _, s := range e.out.Sends {
			e.mail = append(e.mail, envelope{s.To, s.Msg})
		}
		for _, t := range e.out.Timers {
			e.world.schedule(event{at: now + t.After, engine: e, due: envelope{m.to, t.Msg}})
		}
		for _, n := range e.out.Notes {
			if n.Level == messages.NoteWarning {
				e.warning = n.Text
			}
		}
		e.out.Reset()
	}
	clear(e.mail)
	return e.failure
}

func (e *engine) step(now time.Duration, m envelope) {
	switch m.to {
	case messages.Queue:
		e.queue.Handle(now, m.msg.(messages.ToQueue), &e.out)
	case messages.Former:
		e.former.Handle(now, m.msg.(messages.ToFormer), &e.out)
	case messages.Cache:
		e.cache.Handle(now, m.msg.(messages.ToCache), &e.out)
	case messages.Allocator:
		e.alloc.Handle(now, m.msg.(messages.ToAllocator), &e.out)
	case messages.Runner:
		at := e.runner.launch(now, m.msg.(*messages.RunBatch))
		e.world.schedule(event{at: at, engine: e})
	case messages.Intake:
		e.results(now, m.msg)
	case messages.Observer:
		e.world.router.Changed(now, e.id, m.msg.(*messages.CacheChanged))
	case messages.Engine:
		e.fail("%s", m.msg.(*messages.FailEpoch).Cause)
	default:
		e.fail("a %T for %v, which is not simulated", m.msg, m.to)
	}
}

func (e *engine) fail(format string, args ...any) {
	if e.failure == nil {
		e.failure = fmt.Errorf("replica %d: "+format, append([]any{e.id}, args...)...)
	}
}

// read keeps the readings that the report needs.
func (e *engine) read(r *messages.Reading) {
	switch r.Metric {
	case messages.RequestsWaiting:
		e.waiting = int(r.Value)
	case messages.TokensWaiting:
		e.waitingTokens = int(r.Value)
	case messages.RequestsRunning:
		e.running = int(r.Value)
	case messages.Steps:
		e.counts.steps++
	case messages.Retractions:
		e.counts.retractions += int(r.Value)
	case messages.EvictedTokens:
		e.counts.evictedTokens += int(r.Value)
	case messages.AuditsFailed:
		e.counts.auditsFailed++
	}
}

// results is intake: it takes tokens and ends, and measures.
func (e *engine) results(now time.Duration, msg any) {
	m, ok := msg.(*messages.StepResults)
	if !ok {
		e.fail("intake got a %T", msg)
		return
	}
	if e.seq++; m.Seq != e.seq {
		e.fail("results %d follow %d", m.Seq, e.seq-1)
	}
	for i := range m.Prompts {
		p := &m.Prompts[i]
		e.counts.cachedTokens += p.CachedTokens
	}
	for i := range m.Tokens {
		e.token(now, m.Tokens[i].ID, m.Tokens[i].Position)
	}
	for i := range m.Ended {
		e.ended(now, &m.Ended[i])
	}
}

func (e *engine) token(now time.Duration, id messages.RequestID, position int) {
	o := e.open[id]
	if o == nil || position != o.got {
		e.fail("request %d has got token %d out of turn", id, position)
		return
	}
	if o.got++; o.got == 1 {
		e.world.firstToken(id, now-o.arrived)
	} else {
		e.world.nextToken(now - o.last)
	}
	o.last = now
}

func (e *engine) ended(now time.Duration, m *messages.RequestEnded) {
	o := e.open[m.ID]
	if o == nil || m.Reason != messages.EndLength || o.got != o.output {
		e.fail("request %d has ended out of turn: %+v of %+v", m.ID, m, o)
		return
	}
	delete(e.open, m.ID)
	e.counts.ended++
	e.counts.promptTokens += o.prompt
	e.counts.outputs += o.got
	e.world.requestEnded(m.ID, now-o.arrived)
}

// pages counts the pool by owner.
func (e *engine) pages() messages.PageCount {
	tree := e.cache.Tree()
	return messages.PageCount{
		Free: e.alloc.Free(), Evictable: tree.Evictable(), Protected: tree.Protected(),
		Leased: e.former.Load().Leased, Total: e.world.pool.Pages,
	}
}

// settled verifies that nothing is left when all requests have ended.
func (e *engine) settled() error {
	c := e.pages()
	switch {
	case len(e.open) > 0 || e.queue.Waiting() > 0 || !e.former.Load().Resting:
		return fmt.Errorf("replica %d: %d requests never end", e.id, len(e.open))
	case !c.Balanced() || c.Protected != 0 || c.Leased != 0 || e.counts.auditsFailed > 0:
		return fmt.Errorf("replica %d: pages are left over: %+v", e.id, c)
	}
	return nil
}
