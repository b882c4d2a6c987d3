package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

// epochRoles are the actors of an epoch in the order of their start: receivers first.
var epochRoles = []messages.Actor{messages.Runner, messages.Allocator, messages.Cache, messages.Former, messages.Queue}

// supervisor starts and stops the actors of a member as the lifecycle says.
type supervisor struct{ *member }

func (s *supervisor) Receive(ctx actor.Context) {
	s.trip()
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		s.resume(ctx)
	case *actor.Stopping:
		// No epoch follows. A failure while actors stop would keep the supervisor up.
		s.life.phase = dead
		s.out.Reset()
		s.ready.Store(false)
		s.mark((*roster.Entry).Stopped)
	case *actor.Terminated:
		delete(s.running, msg.Who.Id)
		if len(s.running) == 0 {
			s.handle(ctx, childrenStopped{s.life.epoch})
		}
	case messages.ToSupervisor:
		s.handle(ctx, msg)
	}
}

// resume starts the first epoch, or goes on after a panic, which has stopped the actors.
func (s *supervisor) resume(ctx actor.Context) {
	switch s.life.phase {
	case pausing:
		s.handle(ctx, &messages.EpochDue{Header: s.life.header()})
	case running, stopping:
		clear(s.running)
		s.handle(ctx, &messages.FailEpoch{From: messages.Supervisor, Cause: "bug in the server: the supervisor panicked and was restarted; please report it: " + s.fault})
		s.handle(ctx, childrenStopped{s.life.epoch})
	case quiescing:
		s.quiesce(ctx)
	}
}

func (s *supervisor) handle(ctx actor.Context, event any) {
	if fail, ok := event.(*messages.FailEpoch); ok && fail.Planned && s.life.phase == running {
		s.log.Warn().Uint32("epoch", uint32(s.life.epoch)).Str("cause", fail.Cause).Msg("restarting the engine, as asked; unfinished requests will be resumed")
	} else if ok && s.life.phase == running && fail.Sticky {
		s.log.Error().Uint32("epoch", uint32(s.life.epoch)).Str("cause", fail.Cause).Msg("the device cannot be used any more; the server ends, and a new start may help")
	} else if ok && s.life.phase == running {
		s.log.Error().Uint32("epoch", uint32(s.life.epoch)).Str("from", fail.From.String()).
			Str("cause", fail.Cause).Int("suspects", len(fail.Suspects)).Msg("restarting the engine; unfinished requests will be resumed. Unless the cause is a timeout or the device, this is a bug in the server: please report it")
	}
	fail, _ := event.(*messages.FailEpoch)
	s.life.token = s.token.Load()
	do := s.life.step(s.spec.Clock(), event, &s.out)
	if s.life.phase != running {
		s.ready.Store(false)
	}
	s.barren.Store(int32(s.life.barren))
	switch {
	case do.start:
		s.token.Store(false)
		s.startEpoch(ctx)
	case do.stop:
		s.ended(fail)
		for _, role := range slices.Backward(epochRoles) {
			pid := s.childPID(role, s.life.epoch)
			if _, runs := s.running[pid.Id]; runs {
				ctx.Stop(pid)
			}
		}
	case do.quiesce:
		s.quiesce(ctx)
	case do.fatal != "":
		s.spec.OnFatal(errors.New(do.fatal))
	}
	s.carryOut(ctx)
	if idle := s.life.phase == pausing && s.life.held; idle != s.idle.Load() {
		if idle {
			s.mark((*roster.Entry).Stopped)
		}
		s.idle.Store(idle)
	}
	if s.life.phase == running {
		// Clients see the epoch only after intake got EpochStarted.
		s.ready.Store(true)
		s.once.Do(func() { close(s.first) })
	}
	if do.stop && len(s.running) == 0 {
		s.handle(ctx, childrenStopped{s.life.epoch})
	}
}

// ended tells people of the end of an epoch.
func (s *supervisor) ended(fail *messages.FailEpoch) {
	s.endedAt = s.spec.Clock()
	s.mark((*roster.Entry).Restarting)
	entry := s.entryOf(fail.From)
	if !fail.Planned {
		entry.Failed(fail.Cause, false)
	}
	s.notice(entry, fmt.Sprintf("epoch %d of %s has ended: %s", s.life.epoch, s.pid.Id, fail.Cause))
	if s.life.barren >= Barren && s.spec.OnBarren != nil {
		s.spec.OnBarren()
	}
}

func (s *supervisor) notice(about *roster.Entry, text string) {
	if s.spec.OnNotice != nil {
		s.spec.OnNotice(about.Path(), text)
	}
}

// entryOf is the entry of the actor that has reported a failure.
func (s *supervisor) entryOf(from messages.Actor) *roster.Entry {
	switch {
	case slices.Contains(epochRoles, from):
		return s.spec.Roster.Entry(s.pathOf(from), from.String())
	case from == messages.Intake || from == messages.Dispatch || from == messages.Portal:
		return s.spec.Roster.Entry(s.Engine.pathOf(from), from.String())
	}
	return s.spec.Roster.Entry(s.pid.Id, messages.Supervisor.String())
}

// mark sets the state of the epoch's actors, for people.
func (s *supervisor) mark(state func(*roster.Entry)) {
	for _, role := range epochRoles {
		state(s.spec.Roster.Entry(s.pathOf(role), role.String()))
	}
}

func (s *supervisor) quiesce(ctx actor.Context) {
	root, self, header := s.system.Root, ctx.Self(), s.life.header()
	s.Executor.Quiesce(func() { root.Send(self, &messages.DeviceQuiesced{Header: header}) })
}

// carryOut performs the lifecycle's effects; all messages go to intake.
func (s *supervisor) carryOut(ctx actor.Context) {
	for _, send := range s.out.Sends {
		ctx.Send(s.upstream(messages.Intake), send.Msg)
	}
	for _, t := range s.out.Timers {
		root, self, msg := s.system.Root, ctx.Self(), t.Msg
		s.spec.After(t.After, func() { root.Send(self, msg) })
	}
	for _, r := range s.out.Readings {
		s.Meter.Record(r.Metric, r.Value)
	}
	s.out.Reset()
}

// startEpoch spawns the epoch's actors on the same executor.
func (s *supervisor) startEpoch(ctx actor.Context) {
	if s.OnEpoch != nil {
		s.OnEpoch(s.life.epoch)
	}
	s.Observe(&messages.EpochStarted{Header: s.life.header()})
	clear(s.running)
	for _, role := range epochRoles {
		pid, err := ctx.SpawnNamed(s.props(role), childName(role, s.life.epoch))
		if err != nil {
			s.log.Error().Err(err).Str("actor", role.String()).Msg("an actor of the engine cannot start")
			ctx.Send(ctx.Self(), &messages.FailEpoch{Header: s.life.header(), From: role, Cause: err.Error()})
			continue
		}
		ctx.Watch(pid)
		s.running[pid.Id] = struct{}{}
	}
	s.log.Info().Uint32("epoch", uint32(s.life.epoch)).Msg("the engine is ready")
	text := fmt.Sprintf("epoch %d of %s has begun", s.life.epoch, s.pid.Id)
	if s.life.epoch > 1 {
		text += fmt.Sprintf(" %v after the end of the last one", (s.spec.Clock() - s.endedAt).Round(time.Millisecond))
	}
	s.notice(s.spec.Roster.Entry(s.pid.Id, messages.Supervisor.String()), text)
	s.epoch.Store(uint32(s.life.epoch))
}

// HandleFailure implements actor.SupervisorStrategy: the actor that failed is stopped and
// its epoch ends. The shell's FailEpoch, with the suspects, is in the mailbox before it.
func (s *supervisor) HandleFailure(system *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	sup.StopChildren(child)
	system.Root.Send(s.pid, &messages.FailEpoch{Header: messages.Header{Engine: s.id, Epoch: epochOf(child)}, Cause: fmt.Sprintf("actor %s failed: %s", child.Id, shell.Fault(reason))})
}
