package engine

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/portal"
)

// portalActor is the actor of the portal. After a panic, the next incarnation does not know
// which gateway has which request; it makes the engine and all links start over.
type portalActor struct {
	*shell.Actor[messages.ToPortal]
	over *messages.FailEpoch // to be handled first; nil in the first incarnation
}

func (e *Engine) portalProps(opt shell.Options, more []actor.PropsOption) *actor.Props {
	var failed *messages.FailEpoch // the next incarnation handles it
	var lost any                   // the message of the panic
	opt.OnPanic = func(_ actor.Context, msg any, fail *messages.FailEpoch) { failed, lost = fail, msg }
	return actor.PropsFromProducer(func() actor.Actor {
		p := &portalActor{}
		if old := e.portal; old != nil {
			e.portal, lost = portal.Next(old, lost), nil
			p.over = &messages.FailEpoch{From: messages.Portal, Cause: "bug in the server: the portal panicked and was restarted; please report it"}
			if why := e.planned.Swap(nil); why != nil {
				p.over.Cause, p.over.Planned = *why, true
			} else if failed != nil { // its suspects have ids of the engine, or of gateways: nobody is suspected
				p.over.Cause, failed = failed.Cause, nil
			}
			if e.spec.OnRestart != nil {
				e.spec.OnRestart()
			}
		} else {
			e.portal = portal.New()
		}
		p.Actor = shell.New[messages.ToPortal](opt, e.portal)
		return p
	}, more...)
}

func (p *portalActor) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok && p.over != nil {
		p.Handle(ctx, p.over)
	}
	p.Actor.Receive(ctx)
}
