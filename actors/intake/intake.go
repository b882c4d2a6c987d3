// Package intake is the actor that owns every open request, a shell around
// request.Core. It stands outside the epochs: its table is handed to every
// incarnation, and after each epoch it submits what is unfinished again.
//
//	Receives: SubmitRequests, AbortRequests, DropCall, ResumeOutput, AskCacheFlush, AskAudit, AskCacheTree, DrainIntake, ConfigureIntake (client, engine);
//	          StepResults, CacheFlushed, FlushRefused, SlotsAudited (batch); EpochStarted, EpochEnded (engine); CacheDescribed (cache)
//	Sends:    CallAccepted, CallRefused, CallOutput (client); EnqueueRequests, FinishRequests (queue);
//	          FlushCache, AuditSlots (batch); DescribeCache (cache); FailEpoch (engine)
//	State:    request.Table
//	On failure: restarted on its table, with the message in hand first. If that
//	          fails again, a call is refused and anything else ends the epoch.
package intake

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
)

// Options are what intake needs besides the shell's.
type Options struct {
	// Table outlives every incarnation; no other actor touches it.
	Table       *request.Table
	Detokenizer request.Detokenizer
}

// survivor is what an incarnation leaves to the next one besides the table.
type survivor struct {
	engine messages.Header // the incarnation that EpochStarted has announced
	// pending was in hand when the last incarnation panicked; the next one
	// takes it before anything else, so that the order of messages stays.
	pending    messages.ToIntake
	retried    messages.ToIntake // what is taken again; nil once that has gone well
	abandon    func(messages.ToIntake)
	supervisor *actor.PID
}

// Props makes the actor. routes gives the processes of an epoch.
func Props(opt shell.Options, intake Options, routes func(messages.Epoch) func(messages.Actor) *actor.PID, more ...actor.PropsOption) *actor.Props {
	newCore := func() *request.Core {
		return request.NewCore(intake.Table, request.CoreOptions{Detokenizer: intake.Detokenizer})
	}
	route := routes(0)
	s := &survivor{abandon: func(m messages.ToIntake) { newCore().Abandon(m) }, supervisor: route(messages.Engine)}
	opt.Route = func(to messages.Actor) *actor.PID { return route(to) }
	opt.OnPanic = s.onPanic
	return actor.PropsFromProducer(func() actor.Actor {
		return &incarnation{survivor: s, shell: shell.New(opt, newCore()), enter: func(engine messages.Header) {
			s.engine, route = engine, routes(engine.Epoch)
		}}
	}, more...)
}

// incarnation follows the epochs, so that its sends reach the current one.
type incarnation struct {
	*survivor
	shell *shell.Actor[messages.ToIntake]
	enter func(messages.Header)
}

// Receive implements actor.Actor.
func (i *incarnation) Receive(ctx actor.Context) {
	msg, ok := ctx.Message().(messages.ToIntake)
	if _, started := ctx.Message().(*actor.Started); started && i.pending != nil {
		msg, ok = i.pending, true
		i.pending, i.retried = nil, msg
	}
	if !ok {
		return
	}
	if e, ok := msg.(*messages.EpochStarted); ok {
		i.enter(e.Header)
	}
	i.shell.Handle(ctx, msg)
	i.retried = nil // its memory may come back as another message
}

// onPanic decides what becomes of the message in hand. The table is as it was
// before it, so the next incarnation takes it again. A call that fails a second
// time is refused; anything else ends the epoch, and the next one computes from
// the table what is missing.
func (s *survivor) onPanic(ctx actor.Context, msg any, fail *messages.FailEpoch) {
	m := msg.(messages.ToIntake)
	if s.retried != m {
		s.pending = m
		return
	}
	s.abandon(m)
	if _, call := msg.(*messages.SubmitRequests); !call {
		fail.Header = s.engine
		ctx.Send(s.supervisor, fail)
	}
}
