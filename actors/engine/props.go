package engine

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// props makes an actor of the current epoch. All but the runner are a core in the common
// shell, the batch former and the cache with the request log around it.
func (s *supervisor) props(role messages.Actor) *actor.Props {
	opt, more := s.shellOptions(role), s.propsFor(role, s.pathOf(role))
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
			return &formerLog{Core: former.New(s.spec.Batch), log: opt.Log, trails: map[messages.RequestID]*trail{}, token: &s.token}
		}, more)
	case messages.Queue:
		return props(opt, func() shell.Core[messages.ToQueue] { return queue.New(s.spec.Queue) }, more)
	}
	panic(fmt.Sprintf("no actor plays %s in an epoch", role))
}

func props[M any](opt shell.Options, core func() shell.Core[M], more []actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return shell.New(opt, core()) }, more...)
}

func (m *member) shellOptions(role messages.Actor) shell.Options {
	opt := m.Engine.shellOptions(role, m.pathOf(role), m.routes(m.life.epoch))
	opt.Own, opt.Meter, opt.Log = m.life.header(), m.Meter, m.log
	return opt
}

func (e *Engine) shellOptions(role messages.Actor, path string, routes routeFunc) shell.Options {
	return shell.Options{
		Role: role, Route: routes,
		Meter: e.spec.Meter, Log: e.spec.Log, Clock: e.spec.Clock, After: e.spec.After, Intercept: e.intercept(path, role),
		OnNote:  e.spec.OnNote,
		OnStart: e.spec.Roster.Entry(path, role.String()).Begin,
	}
}

// intercept is the hook of an actor with a path; nil, which costs nothing, without Chaos.
func (e *Engine) intercept(path string, role messages.Actor) func(messages.Actor, any) {
	if !e.spec.Chaos {
		return e.spec.Intercept
	}
	entry, inner := e.spec.Roster.Entry(path, role.String()), e.spec.Intercept
	return func(role messages.Actor, msg any) {
		if inner != nil {
			inner(role, msg)
		}
		entry.Trip()
	}
}

// propsFor are the options of an actor with a path (see pathOf).
func (e *Engine) propsFor(role messages.Actor, path string) []actor.PropsOption {
	more := e.spec.Roster.Entry(path, role.String()).Options()
	if e.spec.Props != nil {
		more = append(more, e.spec.Props(role)...)
	}
	return more
}
