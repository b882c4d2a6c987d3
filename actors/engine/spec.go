package engine

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// Spec describes an engine, or several behind one intake. The executors (with devices,
// weights and pools) and intake's table belong to the process and outlive the epochs.
type Spec struct {
	Name     string           // of the root actor; "engine" when empty
	Members  []Member         // the engines behind intake; each has its own actors, pool and epochs. None for a gateway
	Dispatch dispatch.Options // its Replicas is set to the number of members
	// Portal: gateways submit the requests, and there is no intake and no observer.
	Portal bool
	// Peers finds the other end of a slot: for a portal the gateway, for dispatch of a
	// gateway the engine. nil if there is none. It is called on their mailboxes.
	Peers func(slot messages.EngineID) *actor.PID
	// OnRestart is called when dispatch of a gateway, or the portal, starts over after a
	// panic, on its mailbox: its links must begin again. It must not block.
	OnRestart func()
	Queue     queue.Options
	Batch     former.Options
	Cache     radix.Options
	Alloc     pages.Options
	Intake    intake.Options
	Watchdog  time.Duration // a step that takes longer has failed; 0: no limit
	Backoff   Backoff
	Meter     messages.Meter
	Log       zerolog.Logger
	Roster    *roster.Roster // counts what the actors do; nil: nothing is counted
	// Chaos: actors look at each message whether the roster wants them to crash.
	Chaos bool
	// OnNotice is called when an epoch begins or ends, with the actor that has caused it,
	// OnBarren when Barren or more epochs in a row have ended without a token. They must
	// not block. OnNote gets what cores note for the operator. nil: nobody is told.
	OnNotice func(path, text string)
	OnBarren func()
	OnNote   func(messages.Note)
	// OnFatal is called when the engine gives up: the device failed for good or does not
	// become idle. It must end the process, or pass the requests on, without blocking.
	OnFatal  func(error)
	Observer *observer.Options // if set, adds the actor that publishes what is cached; needs Cache.Events
	// Intercept and Props are for tests: fault injection, dispatchers.
	Intercept func(role messages.Actor, msg any)
	Props     func(role messages.Actor) []actor.PropsOption
	Clock     func() time.Duration            // time since the start, virtual in tests; nil: the real one
	After     func(d time.Duration, f func()) // calls f after d in that time; nil: in real time
}

// Member is one engine of a Spec.
type Member struct {
	Executor runner.Executor
	Meter    messages.Meter // nil means the Spec's
	// OnEpoch, if not nil, is called before an epoch starts, with all pages free. It must not block.
	OnEpoch func(messages.Epoch)
}
