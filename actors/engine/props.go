package engine

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// props makes an actor of the current epoch. All but the runner are a core in the common
// shell, the batch former and the cache with the request log around it.
func (s *supervisor) props(role messages.Actor) *actor.Props {
	opt, more := s.shellOptions(role), s.propsFor(role)
	switch role {
	case messages.Runner:
		return runner.Props(opt, s.Executor, s.spec.Watchdog, more...)
	case messages.Allocator:
		return props(opt, func() shell.Core[messages.ToAllocator] { return pages.New(s.spec.Alloc) }, more)
	case messages.Cache:
		return props(opt, func() shell.Core[messages.ToCache] {
			return &cacheLog{radix.New(s.spec.Cache), opt.Log, s.spec.Cache.PageSize, map[messages.RequestID]match{}}
		}, more)
	case messages.Former:
		return props(opt, func() shell.Core[messages.ToFormer] {
			return &formerLog{Core: former.New(s.spec.Batch), log: opt.Log, trails: map[messages.RequestID]*trail{}}
		}, more)
	case messages.Queue:
		return props(opt, func() shell.Core[messages.ToQueue] { return queue.New(s.spec.Queue) }, more)
	}
	panic(fmt.Sprintf("no actor plays %s in an epoch", role))
}

func props[M any](opt shell.Options, core func() shell.Core[M], more []actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return shell.New(opt, core()) }, more...)
}

// dispatcher is the actor of dispatch. After a panic, the next incarnation does not
// know which engine has which request; it makes intake and all engines start over.
type dispatcher struct {
	*shell.Actor[messages.ToDispatch]
	over *messages.FailEpoch // to be handled first; nil in the first incarnation
}

func (e *Engine) dispatchProps(opt shell.Options, more []actor.PropsOption) *actor.Props {
	var failed *messages.FailEpoch // the next incarnation handles it
	opt.OnPanic = func(_ actor.Context, _ any, fail *messages.FailEpoch) { failed = fail }
	return actor.PropsFromProducer(func() actor.Actor {
		d := &dispatcher{}
		if old := e.dispatch; old != nil {
			d.over = &messages.FailEpoch{Header: old.Own(), From: messages.Dispatch, Cause: "bug in the server: dispatch panicked and was restarted; please report it"}
			if failed != nil { // so that intake counts the suspects
				d.over.Cause, d.over.Suspects, failed = failed.Cause, failed.Suspects, nil
			}
			e.dispatch = dispatch.New(old.Own().Epoch, e.spec.Dispatch)
		} else {
			e.dispatch = dispatch.New(1, e.spec.Dispatch)
		}
		d.Actor = shell.New[messages.ToDispatch](opt, e.dispatch)
		return d
	}, more...)
}

func (d *dispatcher) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok && d.over != nil {
		d.Handle(ctx, d.over)
	}
	d.Actor.Receive(ctx)
}
