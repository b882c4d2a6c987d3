// Package alloc is the actor of the KV allocator, a shell around
// memory.AllocCore.
//
//	Receives: ReservePages, AuditSlots (cache)
//	Sends:    PagesReserved, PagesRefused, AuditSlots (batch)
//	State:    the free pages
//	Invariants: a page is free at most once; page 0 is never handed out
//	On failure: stopped with its epoch; the next one starts with every page free
package alloc

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/memory"
	"github.com/troupe-engine/troupe/messages"
)

// Props makes the actor of one epoch.
func Props(opt shell.Options, alloc memory.AllocOptions, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return shell.New[messages.ToAlloc](opt, memory.NewAllocCore(opt.Epoch, alloc))
	}, more...)
}
