package replay

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/portal"
	"github.com/troupe-engine/troupe/sched/queue"
)

// engine is one replica: four cores, a runner and a device, and in a cluster a portal.
type engine struct {
	id     int
	epoch  messages.Epoch // counts the lives of the replica, from 1
	world  *world
	queue  *queue.Core
	former *former.Core
	cache  *radix.Core
	alloc  *pages.Core
	runner runner
	portal *portal.Core // nil outside a cluster
	intake *intake      // nil in a cluster, where each gateway has one

	mail    []envelope // from mail[next] on not delivered
	next    int
	out     messages.Outbox
	links   messages.Outbox // of the portal
	failure error
	warning string // the newest one that a core has noted for the log

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

func newEngine(w *world, id int) *engine {
	opt, pool := &w.opt, w.pool
	e := &engine{
		id: id, world: w, epoch: 1,
		queue:  queue.New(opt.queue()),
		former: former.New(opt.former(pool)),
		cache:  radix.New(opt.cache(pool)),
		alloc:  pages.New(pages.Options{Pages: pool.Pages}),
		runner: newRunner(w.costs, pool.MaxRunning),
	}
	if opt.clustered() {
		e.portal = portal.New()
		e.out.Own = messages.Header{Epoch: 1} // a portal does not accept the zero one
	} else {
		e.intake = newIntake(w)
	}
	return e
}

func (e *engine) submit(now time.Duration, r *messages.EngineRequest, arrived time.Duration) error {
	e.intake.add(r, arrived)
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
	case messages.Portal:
		e.toPortal(now, m.msg.(messages.ToPortal))
	case messages.Intake:
		switch results, ok := m.msg.(*messages.StepResults); {
		case !ok:
			e.fail("unexpected message %T to intake", m.msg)
		case e.portal != nil:
			e.toPortal(now, results)
		default:
			e.intake.results(now, results, e)
		}
	case messages.Observer:
		if changed := m.msg.(*messages.CacheChanged); e.portal != nil {
			e.toPortal(now, changed)
		} else {
			e.world.router.Changed(e.id, changed)
		}
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
	case e.intake != nil && len(e.intake.open) > 0 || e.queue.Waiting() > 0 || !e.former.Load().Resting:
		e.fail("requests have no result")
	case !c.Balanced() || c.Protected != 0 || c.Leased != 0 || e.auditsFailed > 0:
		e.fail("KV pages were not freed at the end: %+v", c)
	}
	return e.failure
}
