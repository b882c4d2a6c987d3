// Package engine wires the actors of one engine and supervises them.
//
//	engine              the trunk: spawns its children, restarts whichever fails
//	├── intake          outlives the epochs, restarted on its table
//	├── observer        outlives the epochs, if KV events are on
//	└── supervisor      restarted on the lifecycle's state
//	    ├── queue-N     ┐
//	    ├── batch-N     │ epoch N: stopped together, started afresh together
//	    ├── cache-N     │
//	    ├── alloc-N     │
//	    └── runner-N    ┘
//
// When any of them panics, a device step fails or an invariant breaks, the
// supervisor stops the epoch's actors, waits for the device to become quiet and
// starts the next epoch; intake submits every unfinished request again.
package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
)

// Spec is all that an engine is made of. The executor with its device, weights
// and pool, and intake's table belong to the process and outlive the epochs.
type Spec struct {
	Name     string            // of the root actor; "engine" when empty
	ID       messages.EngineID // tells the engines of one intake apart
	Queue    queue.Options
	Batch    former.Options
	Cache    radix.Options
	Alloc    pages.Options
	Intake   intake.Options
	Executor runner.Executor
	Watchdog time.Duration // after which a step is taken to hang; 0: never
	Backoff  Backoff
	Meter    messages.Meter
	Log      zerolog.Logger
	// OnFatal is called when the engine gives up: the device failed for good
	// or does not become quiet. It must end the process or give the requests
	// to another one; it must not block.
	OnFatal func(error)
	// Observer, if not nil, adds the actor that publishes what is cached; the
	// cache must have Events on.
	Observer *observer.Options
	// OnEpoch, if not nil, is called before the actors of an epoch start, when
	// every page of the pool is free. It must not block.
	OnEpoch func(messages.Epoch)
	// Intercept and Props are for tests: fault injection, dispatchers.
	Intercept func(role messages.Actor, msg any)
	Props     func(role messages.Actor) []actor.PropsOption
	// Clock and After are time, virtual in tests: how long the engine has been
	// there, and how to have f called d later. Nil means the real one.
	Clock func() time.Duration
	After func(d time.Duration, f func())
}

// Engine is a running engine. Its methods are safe for concurrent use.
type Engine struct {
	spec   Spec
	system *actor.ActorSystem
	trunk  *actor.PID
	pid    *actor.PID // the supervisor's
	ready  atomic.Bool
	up     chan struct{} // closed once intake stands
	first  chan struct{} // closed once the first epoch stands

	stopping bool // the trunk's, touched on its mailbox only

	// The supervisor's, touched on its mailbox only.
	life     lifecycle
	out      messages.Outbox
	standing map[string]struct{} // ids of the epoch's actors
}

// Start spawns the supervisor, which starts the first epoch, and returns once
// intake stands: from then on no call is lost.
func Start(system *actor.ActorSystem, spec Spec) (*Engine, error) {
	if spec.Name == "" {
		spec.Name = "engine"
	}
	if spec.Clock == nil {
		start := time.Now()
		spec.Clock = func() time.Duration { return time.Since(start) }
	}
	if spec.After == nil {
		spec.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	spec.Batch.ReportToQueue = spec.Queue.WantsResults()
	e := &Engine{
		spec: spec, system: system,
		trunk: system.NewLocalPID(spec.Name), pid: system.NewLocalPID(spec.Name + "/" + supervisorName),
		life:     lifecycle{opt: spec.Backoff.withDefaults(), engine: spec.ID},
		standing: map[string]struct{}{},
		up:       make(chan struct{}),
		first:    make(chan struct{}),
	}
	props := actor.PropsFromProducer(func() actor.Actor { return trunk{e} }, e.propsFor(messages.Engine)...)
	if _, err := system.Root.SpawnNamed(props, spec.Name); err != nil {
		return nil, err
	}
	<-e.up
	return e, nil
}

func (e *Engine) propsFor(role messages.Actor) []actor.PropsOption {
	if e.spec.Props == nil {
		return nil
	}
	return e.spec.Props(role)
}

// Send gives a message to intake.
func (e *Engine) Send(msg messages.ToIntake) { e.system.Root.Send(e.intakePID(), msg) }

// Observe gives a message to the observer; without one it is lost.
func (e *Engine) Observe(msg messages.ToObserver) {
	if e.spec.Observer != nil {
		e.system.Root.Send(e.observerPID(), msg)
	}
}

// Stands is closed once the first epoch stands: whatever is sent to intake from
// then on finds it there, if it has not ended again.
func (e *Engine) Stands() <-chan struct{} { return e.first }

// Ready reports whether an epoch stands and takes requests.
func (e *Engine) Ready() bool { return e.ready.Load() }

// Drain refuses new calls and waits until the open ones have ended.
func (e *Engine) Drain(ctx context.Context) error {
	done := make(chan struct{})
	e.Send(&messages.DrainIntake{Done: done})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Configure gives intake new limits and waits until they hold. An error is why
// they stay as they were.
func (e *Engine) Configure(ctx context.Context, limits messages.IntakeLimits) error {
	reply := make(chan string, 1)
	e.Send(&messages.ConfigureIntake{Limits: limits, Reply: reply})
	select {
	case why := <-reply:
		if why != "" {
			return errors.New(why)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop stops every actor and waits for the device to become quiet. Requests
// still open are lost; Drain first.
func (e *Engine) Stop(ctx context.Context) error {
	e.ready.Store(false)
	stopped := make(chan error, 1)
	go func() { stopped <- e.system.Root.StopFuture(e.trunk).Wait() }()
	select {
	case err := <-stopped:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	quiet := make(chan struct{})
	e.spec.Executor.Quiesce(func() { close(quiet) })
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) intakePID() *actor.PID {
	return e.system.NewLocalPID(e.spec.Name + "/" + messages.Intake.String())
}

func (e *Engine) observerPID() *actor.PID {
	return e.system.NewLocalPID(e.spec.Name + "/" + messages.Observer.String())
}

// routes gives the processes of an epoch by role. They are found by name, so
// that an actor can be told of others that do not stand yet.
func (e *Engine) routes(epoch messages.Epoch) func(messages.Actor) *actor.PID {
	var pids [messages.Observer + 1]*actor.PID
	if e.spec.Observer != nil {
		pids[messages.Observer] = e.observerPID()
	}
	pids[messages.Engine], pids[messages.Intake] = e.pid, e.intakePID()
	for _, role := range epochRoles {
		pids[role] = e.childPID(role, epoch)
	}
	return func(to messages.Actor) *actor.PID { return pids[to] }
}

func (e *Engine) childPID(role messages.Actor, epoch messages.Epoch) *actor.PID {
	return e.system.NewLocalPID(e.pid.Id + "/" + childName(role, epoch))
}

// epochOf reads the epoch from an actor's name; 0 if it has none.
func (e *Engine) epochOf(pid *actor.PID) messages.Epoch {
	n, err := strconv.ParseUint(pid.Id[strings.LastIndexByte(pid.Id, '-')+1:], 10, 32)
	if err != nil {
		return 0
	}
	return messages.Epoch(n)
}
