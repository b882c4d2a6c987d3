// Package intake is the actor that owns every open request, a shell around
// request.Core. It is not part of an epoch: its table survives its restarts, and
// in each new epoch it submits unfinished requests again. With several engines,
// dispatch plays queue, batch former, cache and supervisor for it.
//
//	Receives: SubmitRequests, AbortRequests, DropCall, ResumeOutput (client): calls;
//	          AskCacheFlush, AskAudit, AskSnapshot, AskCacheTree (client): questions;
//	          DrainIntake, ConfigureIntake (owner): refuse new calls; new limits;
//	          EpochStarted, EpochEnded (supervisor): whether requests can be submitted;
//	          StepResults (former): tokens, and a RequestEnded for every released request;
//	          CacheFlushed, FlushRefused, SlotsAudited (former), CacheDescribed (cache): answers;
//	          DeadlinesDue (itself): its timer
//	Sends:    CallAccepted, CallRefused, CallOutput (client): on the channel of the call;
//	          the answers to questions, and to the owner: on the channels in them;
//	          EnqueueRequests, FinishRequests (queue): what to compute, what to release;
//	          FlushCache, AuditSlots (former), DescribeCache (cache): the client's questions;
//	          StepResults (former): back for reuse; DeadlinesDue (itself);
//	          FailEpoch (supervisor): results have a gap or contradict the table, or it panicked twice
//	State:    request.Table
//	On failure: restarted on its table; the current message is handled again. If that
//	          fails, a call is refused and any other message ends the epoch.
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
	engine messages.Header // that EpochStarted has announced
	// pending was being handled when the last incarnation panicked. The next one
	// handles it first, so the order of messages is kept.
	pending messages.ToIntake
	retried messages.ToIntake // is being handled again; nil once that has succeeded
	abandon func(messages.ToIntake)
	route   func(messages.Actor, messages.Header) *actor.PID
}

func Props(opt shell.Options, intake Options, more ...actor.PropsOption) *actor.Props {
	newCore := func() *request.Core {
		return request.NewCore(intake.Table, request.CoreOptions{Detokenizer: intake.Detokenizer})
	}
	s := &survivor{abandon: func(m messages.ToIntake) { newCore().Abandon(m) }, route: opt.Route}
	opt.OnPanic = s.onPanic
	return actor.PropsFromProducer(func() actor.Actor {
		return &incarnation{survivor: s, shell: shell.New(opt, newCore())}
	}, more...)
}

type incarnation struct {
	*survivor
	shell *shell.Actor[messages.ToIntake]
}

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
		i.engine = e.Header
	}
	i.shell.Handle(ctx, msg)
	i.retried = nil // its memory may come back as another message
}

// onPanic decides what happens to the message that was being handled. The table is
// unchanged, so the next incarnation handles it again. A call that fails a second time is
// refused; any other message ends the epoch, and the next one computes what is missing.
func (s *survivor) onPanic(ctx actor.Context, msg any, fail *messages.FailEpoch) {
	m := msg.(messages.ToIntake)
	if s.retried != m {
		s.pending = m
		return
	}
	s.abandon(m)
	if _, call := msg.(*messages.SubmitRequests); !call {
		fail.Header = s.engine
		ctx.Send(s.route(messages.Supervisor, s.engine), fail)
	}
}
