package engine

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/messages"
)

// trunk is the root of the actors. It keeps intake and the supervisors apart, so that
// the mailbox of one survives a panic of the other: an actor is stopped with its
// children and their mailboxes.
type trunk struct{ *Engine }

func (t trunk) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started:
	case *actor.Stopping:
		t.stopping = true
		return
	default:
		return
	}
	props := intake.Props(t.shellOptions(messages.Intake, t.outerRoutes()), t.spec.Intake, t.propsFor(messages.Intake)...)
	t.spawn(ctx, props, messages.Intake.String())
	if o := t.spec.Observer; o != nil {
		t.spawn(ctx, observer.Props(t.shellOptions(messages.Observer, t.outerRoutes()), *o, t.propsFor(messages.Observer)...), messages.Observer.String())
	}
	close(t.up)
	if len(t.members) > 1 {
		t.spawn(ctx, t.dispatchProps(t.shellOptions(messages.Dispatch, t.outerRoutes()), t.propsFor(messages.Dispatch)), messages.Dispatch.String())
	}
	for i, m := range t.members {
		t.spawn(ctx, actor.PropsFromProducer(func() actor.Actor { return &supervisor{m} }, t.propsFor(messages.Supervisor)...), supervisorName(i))
	}
}

func (t trunk) spawn(ctx actor.Context, props *actor.Props, name string) {
	if _, err := ctx.SpawnNamed(props, name); err != nil {
		t.spec.Log.Error().Err(err).Str("actor", name).Msg("bug in the server: an actor cannot start, so the server cannot be used; please report it")
	}
}

// HandleFailure implements actor.SupervisorStrategy: the children keep their state in the
// Engine, the table or their props and continue from there. There is no limit; the
// lifecycle's pauses and intake's second failure bound the rate. Once the trunk stops
// they are not restarted, because it would wait forever for the end of the new actor.
func (t trunk) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	if t.stopping {
		sup.StopChildren(child)
		return
	}
	sup.RestartChildren(child)
}
