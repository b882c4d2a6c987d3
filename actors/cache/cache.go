// Package cache is the actor of the radix cache, a shell around
// memory.CacheCore.
//
//	Receives: LockPrefixes, CommitPlan, AuditSlots (batch); DescribeCache (intake); PeekPrefixes (queue)
//	Sends:    PrefixesLocked (batch); PrefixesPeeked (queue); ReservePages, AuditSlots (alloc); CacheDescribed (intake)
//	State:    the radix tree over the pages it owns
//	Invariants: listed on memory.Tree
//	On failure: stopped with its epoch; the next one starts with an empty cache
package cache

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/memory"
	"github.com/troupe-engine/troupe/messages"
)

// Props makes the actor of one epoch.
func Props(opt shell.Options, cache memory.CacheOptions, more ...actor.PropsOption) *actor.Props {
	cache.Explain = opt.Log.GetLevel() <= zerolog.DebugLevel
	return actor.PropsFromProducer(func() actor.Actor {
		core := memory.NewCacheCore(opt.Epoch, cache)
		if cache.Explain {
			return shell.New[messages.ToCache](opt, newRequestLog(core, cache.PageSize, opt.Log))
		}
		return shell.New[messages.ToCache](opt, core)
	}, more...)
}
