// Package engine wires intake and one or more engines, and supervises their actors.
//
//	engine              the root: spawns its children, restarts those that fail
//	├── intake          outlives the epochs, restarted on its table
//	├── portal          instead of intake, for an engine behind gateways
//	├── observer        outlives the epochs, if KV events are on
//	├── dispatch        outlives the epochs, if there are several engines, or none: those of a gateway are elsewhere
//	└── supervisor      restarted on the lifecycle's state; one for each engine
//	    ├── queue-N     ┐
//	    ├── former-N    │ epoch N: started together, stopped together
//	    ├── cache-N     │
//	    ├── allocator-N │
//	    └── runner-N    ┘
//
// When an actor of the epoch panics, a device step fails or an invariant breaks, the
// supervisor stops the epoch's actors, waits for the device to become quiet and
// starts the next epoch; intake then submits every unfinished request again.
//
// The supervisor:
//
//	Receives: FailEpoch (any): the first one of an epoch ends it; StartEpochs (owner): epochs go on;
//	          DeviceQuiesced (itself): sent by the executor's callback; EpochDue, QuiesceDue (itself): timers
//	Sends:    EpochStarted, EpochEnded (intake): to dispatch, if there are several engines;
//	          EpochStarted (observer): before the actors start; the actors themselves are spawned and stopped
//	State:    number and phase of the epoch, failures in a row; kept outside the actor
//	On failure: restarted on its state; it ends the running epoch and starts the next one
//
// Every actor but the root and the supervisor is a core in the shell of package shell:
//
//	role        core                      actor made by
//	intake      request.Core              intake.Props, called by the root (root.go)
//	observer    core in actors/observer   observer.Props, called by the root
//	dispatch    sched/dispatch.Core       dispatchProps (dispatcher.go), called by the root
//	portal      sched/portal.Core         portalProps (portal.go), called by the root
//	queue       sched/queue.Core          props (props.go), called by the supervisor
//	former      sched/former.Core         the same, with the request log around it
//	cache       memory/radix.Core         the same, with the request log around it
//	allocator   memory/pages.Core         the same
//	runner      core in actors/runner     runner.Props, called by the supervisor
//	supervisor  lifecycle (lifecycle.go)  the root, without the shell
//
// # Parts
//
//	spec, engine                  what an engine is made of; starting, draining and stopping it
//	root, supervisor, lifecycle   the root; starting and stopping epochs, and the rules for that
//	operate                       what operators ask for
//	props, dispatcher, portal     how actors are made
//	addresses                     names of processes, and routes to them
//	requestlog                    lines about single requests
package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/portal"
	"github.com/troupe-engine/troupe/sched/route"
)

// Engine is a running engine, or several behind one intake. Safe for concurrent use.
type Engine struct {
	spec    Spec
	system  *actor.ActorSystem
	root    *actor.PID
	members []*member
	up      chan struct{} // closed once intake runs
	first   chan struct{} // closed once the first epoch of any member runs
	once    sync.Once     // closes first

	planned  atomic.Pointer[string] // why an operator restarts dispatch or the portal, until it has
	stopping bool                   // used on the root's mailbox only
	dispatch *dispatch.Core         // the newest incarnation's; nil with one member
	portal   *portal.Core           // likewise; nil without one
}

// member is one engine. The state of its supervisor is here and not in the actor, so
// that the next incarnation after a panic continues from it.
type member struct {
	*Engine
	Member
	id    messages.EngineID
	log   zerolog.Logger // names the engine if there are several
	pid   *actor.PID     // the supervisor's
	ready atomic.Bool

	// Written by the supervisor, for people.
	epoch  atomic.Uint32
	barren atomic.Int32 // as in lifecycle
	idle   atomic.Bool  // no actors, and no epoch follows
	token  atomic.Bool  // the epoch has computed one; written by the former's mailbox too

	fault string // why the supervisor has panicked; written by the root before it restarts it
	// Used on the supervisor's mailbox only.
	life    lifecycle
	endedAt time.Duration // the last epoch
	out     messages.Outbox
	running map[string]struct{} // ids of the epoch's actors
}

// Start spawns the supervisors, and returns once intake runs: then no call is lost.
func Start(system *actor.ActorSystem, spec Spec) (*Engine, error) {
	spec.Name = cmp.Or(spec.Name, "engine")
	if spec.Clock == nil {
		start := time.Now()
		spec.Clock = func() time.Duration { return time.Since(start) }
	}
	if spec.After == nil {
		spec.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	spec.Batch.ReportToQueue = spec.Queue.WantsResults()
	e := &Engine{
		spec: spec, system: system, root: system.NewLocalPID(spec.Name),
		up: make(chan struct{}), first: make(chan struct{}),
	}
	for i, m := range spec.Members {
		if m.Meter == nil {
			m.Meter = spec.Meter
		}
		log := spec.Log
		if len(spec.Members) > 1 {
			log = log.With().Int("engine", i).Logger()
		}
		e.members = append(e.members, &member{
			Engine: e, Member: m, id: messages.EngineID(i), log: log, pid: system.NewLocalPID(spec.Name + "/" + supervisorName(i)),
			life: lifecycle{opt: spec.Backoff.withDefaults(), engine: messages.EngineID(i)}, running: map[string]struct{}{},
		})
	}
	if len(e.members) != 1 {
		d := &e.spec.Dispatch
		d.Route.Replicas, d.Route.PageSize = len(e.members), spec.Cache.PageSize
		if !spec.Cache.Disabled && cmp.Or(d.Route.Policy, route.CacheAware) == route.CacheAware {
			e.spec.Cache.Events = true // tells dispatch what each engine holds
			d.Pages = func(r *messages.EngineRequest) []uint64 {
				return radix.PageHashes(r.Namespace, r.Prompt, spec.Cache.PageSize)
			}
		}
	}
	guard := spec.Roster.Entry(spec.Name, "root").Guard()
	props := actor.PropsFromProducer(func() actor.Actor { return root{e} }, append(e.propsFor(messages.Client, spec.Name), guard)...)
	if _, err := system.Root.SpawnNamed(props, spec.Name); err != nil {
		return nil, err
	}
	<-e.up
	return e, nil
}

// Dispatch and Portal are the actors to which the links of a gateway, and of an engine
// behind gateways, send what comes from the other end.
func (e *Engine) Dispatch() *actor.PID { return e.pid(messages.Dispatch) }
func (e *Engine) Portal() *actor.PID   { return e.pid(messages.Portal) }

func (e *Engine) Send(msg messages.ToIntake) { e.system.Root.Send(e.pid(messages.Intake), msg) }

// Observe sends a message to the observer, if there is one.
func (e *Engine) Observe(msg messages.ToObserver) {
	if e.spec.Observer != nil {
		e.system.Root.Send(e.pid(messages.Observer), msg)
	}
}

// Started is closed when the first epoch has begun, so that intake can submit requests.
func (e *Engine) Started() <-chan struct{} { return e.first }

// Ready reports whether an engine accepts requests.
func (e *Engine) Ready() bool {
	return slices.ContainsFunc(e.members, func(m *member) bool { return m.ready.Load() })
}

// Drain refuses new calls and waits until the open ones have ended.
func (e *Engine) Drain(ctx context.Context) error {
	done := make(chan struct{})
	e.Send(&messages.DrainIntake{Done: done})
	_, err := await(ctx, done)
	return err
}

// await receives a value, unless the context ends before.
func await[T any](ctx context.Context, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return value, err
}

// Configure sets new limits of intake and waits until they apply. If it returns an
// error that is not the context's, nothing has changed.
func (e *Engine) Configure(ctx context.Context, limits messages.IntakeLimits) error {
	reply := make(chan string, 1)
	e.Send(&messages.ConfigureIntake{Limits: limits, Reply: reply})
	why, err := await(ctx, reply)
	if why != "" {
		return errors.New(why)
	}
	return err
}

// Stop stops every actor and waits for the device. Call Drain first: open requests are lost.
func (e *Engine) Stop(ctx context.Context) error {
	for _, m := range e.members {
		m.ready.Store(false)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- e.system.Root.StopFuture(e.root).Wait() }()
	failed, err := await(ctx, stopped)
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	for _, m := range e.members {
		quiet := make(chan struct{})
		m.Executor.Quiesce(func() { close(quiet) })
		if _, err := await(ctx, quiet); err != nil {
			return err
		}
	}
	return nil
}
