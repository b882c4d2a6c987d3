package engine

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
)

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
			if why := e.planned.Swap(nil); why != nil {
				d.over.Cause, d.over.Planned = *why, true
			} else if failed != nil { // so that intake counts the suspects
				d.over.Cause, d.over.Suspects, failed = failed.Cause, failed.Suspects, nil
			}
			e.dispatch = dispatch.New(old.Own().Epoch, e.spec.Dispatch)
			if e.spec.OnRestart != nil {
				e.spec.OnRestart()
			}
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
