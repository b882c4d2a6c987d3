package engine

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

// root is the parent of all actors. It keeps intake and the supervisors apart, so that
// the mailbox of one survives a panic of the other: an actor is stopped with its
// children and their mailboxes.
type root struct{ *Engine }

func (r root) Receive(ctx actor.Context) {
	if r.spec.Chaos {
		r.spec.Roster.Entry(r.spec.Name, "root").Trip()
	}
	switch m := ctx.Message().(type) {
	case *actor.Started:
	case *actor.Stopping:
		r.stopping = true
		return
	case *restartChild:
		if !r.stopping {
			ctx.(actor.Supervisor).RestartChildren(m.pid)
			r.spec.Roster.Entry(m.pid.Id, "").Restarted()
		}
		return
	default:
		return
	}
	if r.spec.Portal {
		r.spawn(ctx, r.portalProps(r.shellOptions(messages.Portal, r.pathOf(messages.Portal), r.portalRoutes()), r.propsFor(messages.Portal, r.pathOf(messages.Portal))), messages.Portal.String())
	} else {
		props := intake.Props(r.shellOptions(messages.Intake, r.pathOf(messages.Intake), r.outerRoutes()), r.spec.Intake, r.propsFor(messages.Intake, r.pathOf(messages.Intake))...)
		r.spawn(ctx, props, messages.Intake.String())
	}
	if o := r.spec.Observer; o != nil {
		r.spawn(ctx, observer.Props(r.shellOptions(messages.Observer, r.pathOf(messages.Observer), r.outerRoutes()), *o, r.propsFor(messages.Observer, r.pathOf(messages.Observer))...), messages.Observer.String())
	}
	if len(r.members) != 1 {
		r.spawn(ctx, r.dispatchProps(r.shellOptions(messages.Dispatch, r.pathOf(messages.Dispatch), r.outerRoutes()), r.propsFor(messages.Dispatch, r.pathOf(messages.Dispatch))), messages.Dispatch.String())
	}
	for i, m := range r.members {
		r.spawn(ctx, actor.PropsFromProducer(func() actor.Actor { return &supervisor{m} }, r.propsFor(messages.Supervisor, m.pid.Id)...), supervisorName(i))
	}
	close(r.up) // last: a message to an actor that is not there yet would be lost
}

func (r root) spawn(ctx actor.Context, props *actor.Props, name string) {
	if _, err := ctx.SpawnNamed(props, name); err != nil {
		r.spec.Log.Error().Err(err).Str("actor", name).Msg("bug in the server: an actor cannot start, so the server cannot be used; please report it")
	}
}

// HandleFailure implements actor.SupervisorStrategy: the children keep their state in the
// Engine, the table or their props and continue from there. There is no limit; the
// lifecycle's pauses and intake's second failure bound the rate. Once the root stops
// they are not restarted, because it would wait forever for the end of the new actor.
func (r root) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	r.spec.Roster.Entry(child.Id, "").Failed(shell.Fault(reason), !r.stopping)
	for _, m := range r.members {
		if m.pid.Id == child.Id {
			m.fault = shell.Fault(reason)
		}
	}
	if r.stopping {
		sup.StopChildren(child)
		return
	}
	sup.RestartChildren(child)
}
