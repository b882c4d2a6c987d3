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
	warning string // the newest one that a core has noted for the log

	open map[messages.RequestID]*open

	// From the cores' readings.
	gauges
	counted gauges // as added up by the world

	done                              ByReplica // so far, without shares
	cachedTokens, steps, auditsFailed int
}

// gauges are an engine's share of the world's sums.
type gauges struct{ waiting, waitingTokens, running int }

type envelope struct {
	to  messages.Actor
	msg any
}

// open is a request that has not ended.
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

func (e *engine) submit(now time.Duration, r *messages.EngineRequest, arrived time.Duration) error {
	e.open[r.ID] = &open{arrived: arrived, prompt: len(r.Prompt), output: r.Params.MaxTokens}
	return e.deliver(now, envelope{messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{r}}})
}

// deliver hands over a message and those that follow from it now, in order of sending.
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
		e.world.router.Changed(e.id, m.msg.(*messages.CacheChanged))
	case messages.Supervisor:
		e.fail("%s", m.msg.(*messages.FailEpoch).Cause)
	default:
		e.fail("unexpected message %T to %v", m.msg, m.to)
	}
}

func (e *engine) fail(format string, args ...any) {
	if e.failure == nil {
		e.failure = fmt.Errorf("bug: engine %d: "+format+"; please report this", append([]any{e.id}, args...)...)
	}
}

func (e *engine) read(r *messages.Reading) {
	switch r.Metric {
	case messages.RequestsWaiting:
		e.waiting = int(r.Value)
	case messages.TokensWaiting:
		e.waitingTokens = int(r.Value)
	case messages.RequestsRunning:
		e.running = int(r.Value)
	case messages.Steps:
		e.steps++
	case messages.Retractions:
		e.done.Retractions += int(r.Value)
	case messages.EvictedTokens:
		e.done.EvictedTokens += int(r.Value)
	case messages.AuditsFailed:
		e.auditsFailed++
	}
}

// results replaces intake: it measures tokens and request ends.
func (e *engine) results(now time.Duration, msg any) {
	m, ok := msg.(*messages.StepResults)
	if !ok {
		e.fail("unexpected message %T to intake", msg)
		return
	}
	if e.seq++; m.Seq != e.seq {
		e.fail("step results %d came after %d; messages were lost or repeated", m.Seq, e.seq-1)
	}
	for i := range m.Prompts {
		e.cachedTokens += m.Prompts[i].CachedTokens
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
		e.fail("request %d got token %d out of order", id, position)
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
		e.fail("request %d ended unexpectedly: event %+v, request %+v", m.ID, m, o)
		return
	}
	delete(e.open, m.ID)
	e.done.Requests++
	e.done.PromptTokens += o.prompt
	e.done.OutputTokens += o.got
	e.world.requestEnded(m.ID, now-o.arrived)
}

func (e *engine) pages() messages.PageCount {
	tree := e.cache.Tree()
	return messages.PageCount{
		Free: e.alloc.Free(), Evictable: tree.Evictable(), Protected: tree.Protected(),
		Leased: e.former.Load().Leased, Total: e.world.pool.Pages,
	}
}

// settled checks that nothing is left over at the end.
func (e *engine) settled() error {
	c := e.pages()
	switch {
	case len(e.open) > 0 || e.queue.Waiting() > 0 || !e.former.Load().Resting:
		e.fail("%d requests have no result", len(e.open))
	case !c.Balanced() || c.Protected != 0 || c.Leased != 0 || e.auditsFailed > 0:
		e.fail("KV pages were not freed at the end: %+v", c)
	}
	return e.failure
}
