// Package shell is the thin actor around a pure core.
//
// A shell does five things: take a message from the mailbox, call the core's Handle,
// carry out the effects in order, publish the readings, and turn a panic into a FailEpoch
// for the supervisor before the runtime sees it. It makes no decisions. Package engine lists
// which role has which core.
//
// # Concurrency properties
//
//   - A core is called from its actor's mailbox only, one message at a time.
//   - Messages of one sender to one receiver arrive in the order of sending;
//     nothing else about their order is certain.
//   - After a panic the shell handles no further messages: the supervisor stops
//     the actor with its epoch. Intake, observer and dispatch are restarted instead.
//   - A timer's message comes through the mailbox like any other. If the actor
//     has stopped by then, it is a dead letter.
package shell

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Core is a plain value without goroutine, clock, lock or IO. It accepts the messages M.
type Core[M any] interface {
	Handle(now time.Duration, msg M, out *messages.Outbox)
}

// Suspecting is a core that can name the requests of a message better than
// messages.Requests. It is called after Handle has panicked, so it must only read.
type Suspecting[M any] interface {
	Suspects(msg M) []messages.RequestID
}

// Options is what every shell needs from the wiring.
type Options struct {
	Role messages.Actor
	// Own is the incarnation; zero for an actor that outlives epochs.
	Own messages.Header
	// Route finds the process of a role in a message's incarnation; nil if there is none.
	Route func(to messages.Actor, of messages.Header) *actor.PID
	Meter messages.Meter
	Log   zerolog.Logger
	// Clock is the time since some fixed point; it never goes back.
	Clock func() time.Duration
	// After has f called d later, from any goroutine.
	After func(d time.Duration, f func())
	// OnPanic, if not nil, replaces the FailEpoch, for actors that outlive the epochs.
	OnPanic func(ctx actor.Context, msg any, fail *messages.FailEpoch)
	// Intercept, if not nil, sees every message before the core: tests inject crashes.
	Intercept func(role messages.Actor, msg any)
	// OnNote, if not nil, gets what is logged for the operator. It must not block.
	OnNote func(messages.Note)
	// OnStart, if not nil, is called when an incarnation is made.
	OnStart func()
}

// Actor is the shell, one per incarnation.
type Actor[M any] struct {
	opt  Options
	core Core[M]
	out  messages.Outbox
	// failed is set by the first panic; nothing is handled after it.
	failed bool
}

func New[M any](opt Options, core Core[M]) *Actor[M] {
	if opt.OnStart != nil {
		opt.OnStart()
	}
	return &Actor[M]{opt: opt, core: core, out: messages.Outbox{Own: opt.Own}}
}

// Receive implements actor.Actor. Messages of the runtime need nothing. Any other
// message that the core does not accept went to the wrong actor.
func (a *Actor[M]) Receive(ctx actor.Context) {
	if a.failed {
		return
	}
	switch msg := ctx.Message().(type) {
	case M:
		a.Handle(ctx, msg)
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.Started:
	default:
		a.unknown(ctx, msg)
	}
}

// unknown counts a message that the core refuses. With invariants it ends the epoch.
func (a *Actor[M]) unknown(ctx actor.Context, msg any) {
	a.opt.Meter.Record(messages.UnknownMessages, 1)
	a.opt.Log.Error().Str("actor", a.opt.Role.String()).Type("message", msg).Msg("bug in the server: an actor got a message that it does not handle; please report it")
	defer a.reportPanic(ctx, msg)
	invariants.Check(!invariants.Enabled, "%s does not take a %T", a.opt.Role, msg)
}

// Handle passes on messages of its own epoch or of none: only here are epochs compared.
func (a *Actor[M]) Handle(ctx actor.Context, msg M) {
	defer a.reportPanic(ctx, msg)
	if a.opt.Intercept != nil {
		a.opt.Intercept(a.opt.Role, msg)
	}
	if a.out.Accepts(msg) {
		a.core.Handle(a.opt.Clock(), msg, &a.out)
	}
	a.carryOut(ctx)
}

func (a *Actor[M]) carryOut(ctx actor.Context) {
	for _, s := range a.out.Sends {
		if to := a.opt.Route(s.To, messages.HeaderOf(s.Msg)); to != nil {
			ctx.Send(to, s.Msg)
		}
	}
	for _, t := range a.out.Timers {
		self, root, msg := ctx.Self(), ctx.ActorSystem().Root, t.Msg
		a.opt.After(t.After, func() { root.Send(self, msg) })
	}
	for _, r := range a.out.Readings {
		a.opt.Meter.Record(r.Metric, r.Value)
	}
	for _, n := range a.out.Notes {
		level := zerolog.InfoLevel
		if n.Level == messages.NoteWarning {
			level = zerolog.WarnLevel
		}
		a.opt.Log.WithLevel(level).Str("actor", a.opt.Role.String()).Msg(n.Text)
		if a.opt.OnNote != nil {
			a.opt.OnNote(n)
		}
	}
	a.out.Reset()
}

// reportPanic reports cause and suspects, and panics again: the runtime stops the actor.
func (a *Actor[M]) reportPanic(ctx actor.Context, msg any) {
	r := recover()
	if r == nil {
		return
	}
	a.failed = true
	a.out.Reset()
	cause := fmt.Sprintf("%s panicked while it handled %T: %s", a.opt.Role, msg, Fault(r))
	a.opt.Log.Error().Str("actor", a.opt.Role.String()).Uint32("epoch", uint32(a.opt.Own.Epoch)).
		Str("cause", cause).Str("stack", string(debug.Stack())).Msg("bug in the server: an actor panicked; please report it. Unfinished requests continue after recovery")
	fail := &messages.FailEpoch{Header: a.opt.Own, From: a.opt.Role, Cause: cause, Suspects: a.suspects(msg)}
	if a.opt.OnPanic != nil {
		a.opt.OnPanic(ctx, msg, fail)
	} else {
		ctx.Send(a.opt.Route(messages.Supervisor, fail.Header), fail)
	}
	panic(r)
}

// suspects come from the core, whose state may be broken, or from the message.
func (a *Actor[M]) suspects(msg any) (ids []messages.RequestID) {
	defer func() {
		if recover() != nil {
			ids = nil
		}
	}()
	core, ok := a.core.(Suspecting[M])
	if m, known := msg.(M); ok && known {
		return core.Suspects(m)
	}
	return messages.Requests(msg)
}
