package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

// epochRoles are the disposable actors, in the order of their start: receivers
// of the ring first.
var epochRoles = []messages.Actor{messages.Runner, messages.Allocator, messages.Cache, messages.Former, messages.Queue}

// supervisor spawns and stops actors as the lifecycle says. Its state lives in
// Engine, so that an incarnation after a panic of its own goes on from there.
type supervisor struct{ *Engine }

// Receive implements actor.Actor.
func (s *supervisor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		s.resume(ctx)
	case *actor.Stopping:
		// No epoch follows, and nothing may fail while the actors of this one
		// stop: the runtime would not end the supervisor then.
		s.life.phase = dead
		s.out.Reset()
		s.ready.Store(false)
	case *actor.Terminated:
		s.terminated(ctx, msg.Who)
	case messages.ToEngine:
		s.handle(ctx, msg)
	}
}

// resume starts the first epoch, or goes on where an earlier incarnation of the
// supervisor panicked. The runtime has stopped its actors by then.
func (s *supervisor) resume(ctx actor.Context) {
	switch s.life.phase {
	case pausing:
		s.handle(ctx, &messages.EpochDue{Header: s.life.header()})
	case running, stopping:
		clear(s.standing)
		s.handle(ctx, &messages.FailEpoch{From: messages.Engine, Cause: "the supervisor panicked"})
		s.handle(ctx, childrenStopped{s.life.epoch})
	case quiescing:
		s.quiesce(ctx)
	}
}

func (s *supervisor) terminated(ctx actor.Context, who *actor.PID) {
	delete(s.standing, who.Id)
	if len(s.standing) == 0 {
		s.handle(ctx, childrenStopped{s.life.epoch})
	}
}

func (s *supervisor) handle(ctx actor.Context, event any) {
	if fail, ok := event.(*messages.FailEpoch); ok && s.life.phase == running {
		s.spec.Log.Error().Uint32("epoch", uint32(s.life.epoch)).Str("from", fail.From.String()).
			Str("cause", fail.Cause).Int("suspects", len(fail.Suspects)).Msg("the epoch ends; unfinished requests go on in the next one")
	}
	do := s.life.step(s.spec.Clock(), event, &s.out)
	if s.life.phase != running {
		s.ready.Store(false)
	}
	switch {
	case do.start:
		s.startEpoch(ctx)
	case do.stop:
		for _, role := range slices.Backward(epochRoles) {
			pid := s.childPID(role, s.life.epoch)
			if _, stands := s.standing[pid.Id]; stands {
				ctx.Stop(pid)
			}
		}
	case do.quiesce:
		s.quiesce(ctx)
	case do.fatal != "":
		s.spec.OnFatal(errors.New(do.fatal))
	}
	s.carryOut(ctx)
	if s.life.phase == running {
		s.stands()
	}
	if do.stop && len(s.standing) == 0 {
		s.handle(ctx, childrenStopped{s.life.epoch})
	}
}

// stands lets clients see the epoch. Intake has heard of it before, so that it
// knows what a client asks for that has seen this.
func (s *supervisor) stands() {
	s.ready.Store(true)
	select {
	case <-s.first:
	default:
		close(s.first)
	}
}

func (s *supervisor) quiesce(ctx actor.Context) {
	root, self, header := s.system.Root, ctx.Self(), s.life.header()
	s.spec.Executor.Quiesce(func() { root.Send(self, &messages.DeviceQuiesced{Header: header}) })
}

// carryOut performs the lifecycle's messages; all of them go to intake.
func (s *supervisor) carryOut(ctx actor.Context) {
	for _, send := range s.out.Sends {
		ctx.Send(s.intakePID(), send.Msg)
	}
	for _, t := range s.out.Timers {
		root, self, msg := s.system.Root, ctx.Self(), t.Msg
		s.spec.After(t.After, func() { root.Send(self, msg) })
	}
	for _, r := range s.out.Readings {
		s.spec.Meter.Record(r.Metric, r.Value)
	}
	s.out.Reset()
}

// startEpoch spawns the epoch's actors on the same executor, whose rows the
// last epoch may have left behind.
func (s *supervisor) startEpoch(ctx actor.Context) {
	s.spec.Executor.Reset()
	if s.spec.OnEpoch != nil {
		s.spec.OnEpoch(s.life.epoch)
	}
	s.Observe(&messages.EpochStarted{Header: s.life.header()})
	clear(s.standing)
	for _, role := range epochRoles {
		pid, err := ctx.SpawnNamed(s.props(role), childName(role, s.life.epoch))
		if err != nil {
			s.spec.Log.Error().Err(err).Str("actor", role.String()).Msg("an actor of the epoch cannot start")
			ctx.Send(ctx.Self(), &messages.FailEpoch{Header: s.life.header(), From: role, Cause: err.Error()})
			continue
		}
		ctx.Watch(pid)
		s.standing[pid.Id] = struct{}{}
	}
	s.spec.Log.Info().Uint32("epoch", uint32(s.life.epoch)).Msg("the engine takes requests")
}

// HandleFailure implements actor.SupervisorStrategy for the actors of an epoch:
// the one that failed is stopped and the epoch ends. The shell's own FailEpoch,
// with the suspects, is in the mailbox before this one.
func (s *supervisor) HandleFailure(system *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	sup.StopChildren(child)
	system.Root.Send(s.pid, &messages.FailEpoch{Header: messages.Header{Engine: s.spec.ID, Epoch: s.epochOf(child)}, Cause: fmt.Sprintf("%s failed: %s", child.Id, shell.Fault(reason))})
}

// childName carries the epoch, so that a late message to an older actor is a
// dead letter instead of a wrong one.
func childName(role messages.Actor, epoch messages.Epoch) string {
	return role.String() + "-" + strconv.FormatUint(uint64(epoch), 10)
}

func (e *Engine) shellOptions(role messages.Actor, epoch messages.Epoch) shell.Options {
	var own messages.Header // none for those that outlive epochs
	if epoch != 0 {
		own = messages.Header{Engine: e.spec.ID, Epoch: epoch}
	}
	return shell.Options{
		Role: role, Own: own, Route: e.routes(epoch),
		Meter: e.spec.Meter, Log: e.spec.Log, Clock: e.spec.Clock, After: e.spec.After, Intercept: e.spec.Intercept,
	}
}
