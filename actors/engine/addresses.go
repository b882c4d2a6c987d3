package engine

import (
	"strconv"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
)

// Processes are found by name, so that an actor can have routes to others that do not
// run yet. The names of an epoch's actors contain the epoch, so a late message to an
// older actor is a dead letter and not a wrong message.
func supervisorName(member int) string {
	if member == 0 {
		return "supervisor"
	}
	return "supervisor-" + strconv.Itoa(member)
}

func childName(role messages.Actor, epoch messages.Epoch) string {
	return role.String() + "-" + strconv.FormatUint(uint64(epoch), 10)
}

// epochOf reads the epoch from an actor's name; 0 if it has none.
func epochOf(pid *actor.PID) messages.Epoch {
	n, err := strconv.ParseUint(pid.Id[strings.LastIndexByte(pid.Id, '-')+1:], 10, 32)
	if err != nil {
		return 0
	}
	return messages.Epoch(n)
}

// pathOf is the name of an actor for people, the same in every epoch.
func (e *Engine) pathOf(role messages.Actor) string { return e.spec.Name + "/" + role.String() }
func (m *member) pathOf(role messages.Actor) string { return m.pid.Id + "/" + role.String() }

// pid is the process of an actor that outlives the epochs.
func (e *Engine) pid(role messages.Actor) *actor.PID {
	return e.system.NewLocalPID(e.spec.Name + "/" + role.String())
}

func (m *member) childPID(role messages.Actor, epoch messages.Epoch) *actor.PID {
	return m.system.NewLocalPID(m.pid.Id + "/" + childName(role, epoch))
}

// upstream plays intake or the observer for an engine: dispatch, if there are several.
func (e *Engine) upstream(role messages.Actor) *actor.PID {
	if len(e.members) > 1 {
		return e.pid(messages.Dispatch)
	}
	return e.front(role)
}

// front is intake or the observer; the portal is both.
func (e *Engine) front(role messages.Actor) *actor.PID {
	switch {
	case e.spec.Portal:
		return e.pid(messages.Portal)
	case role == messages.Observer && e.spec.Observer == nil:
		return nil
	}
	return e.pid(role)
}

// ownSlot is the slot of the engine in the process of its gateway.
const ownSlot messages.EngineID = 0

type routeFunc = func(to messages.Actor, of messages.Header) *actor.PID

// routes are those of an actor in one epoch of a member.
func (m *member) routes(epoch messages.Epoch) routeFunc {
	var pids [messages.Portal + 1]*actor.PID
	if m.spec.Portal {
		pids[messages.Portal] = m.upstream(messages.Portal)
	}
	pids[messages.Supervisor], pids[messages.Intake], pids[messages.Observer] = m.pid, m.upstream(messages.Intake), m.upstream(messages.Observer)
	for _, role := range epochRoles {
		pids[role] = m.childPID(role, epoch)
	}
	return func(to messages.Actor, _ messages.Header) *actor.PID { return pids[to] }
}

// outerRoutes are those of an actor outside the epochs. A message to an engine goes to
// the incarnation in its header. To intake, dispatch plays all roles of an engine.
func (e *Engine) outerRoutes() routeFunc {
	dispatcher := e.pid(messages.Dispatch)
	outer := map[messages.Actor]*actor.PID{messages.Intake: e.front(messages.Intake), messages.Observer: e.front(messages.Observer), messages.Portal: e.front(messages.Portal)}
	type incarnation struct {
		epoch messages.Epoch
		route routeFunc
	}
	known := make([]incarnation, len(e.members)) // the newest of each
	return func(to messages.Actor, of messages.Header) *actor.PID {
		switch {
		case to == messages.Observer && len(e.members) == 0 && of.Engine != ownSlot:
			return nil // what engines elsewhere publish, they publish themselves
		case to == messages.Intake || to == messages.Observer || to == messages.Portal:
			return outer[to]
		case of.Engine == dispatch.Self:
			return dispatcher
		case len(e.members) == 0:
			return e.spec.Peers(of.Engine)
		case int(of.Engine) >= len(e.members):
			return nil
		}
		k := &known[of.Engine]
		if k.route == nil || k.epoch != of.Epoch {
			*k = incarnation{of.Epoch, e.members[of.Engine].routes(of.Epoch)}
		}
		return k.route(to, of)
	}
}

// portalRoutes are those of the portal: to its gateways it plays an engine, to its engine
// intake.
func (e *Engine) portalRoutes() routeFunc {
	engine := e.outerRoutes()
	return func(to messages.Actor, of messages.Header) *actor.PID {
		if to == messages.Intake || to == messages.Observer || to == messages.Link {
			return e.spec.Peers(of.Engine)
		}
		return engine(to, of)
	}
}
