package roster

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
)

// Guard supervises an actor without a parent. After a panic the actor goes on with its
// state and its children, and gets the message again, once: a second panic loses it.
func (e *Entry) Guard() actor.PropsOption { return actor.WithGuardian(&guardian{entry: e}) }

// guardian implements actor.SupervisorStrategy. The runtime calls it on the mailbox of
// the actor.
type guardian struct {
	entry *Entry
	again any // the message that was sent again; a pointer
}

func (g *guardian) HandleFailure(system *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	g.entry.Failed(shell.Fault(reason), true)
	sup.ResumeChildren(child)
	switch message.(type) {
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
		return
	}
	if g.again != message {
		g.again = message
		system.Root.Send(child, message)
	}
}
