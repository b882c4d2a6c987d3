package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
	"github.com/troupe-engine/troupe/testkit/seeded"
)

// plot is what a seed decides about a run before it starts.
type plot struct {
	seed                                                uint64
	pageSize, pages, rows, chunk, context, retractEvery int
	inFlight                                            int // steps
	cacheOff                                            bool
	ratio                                               float64
	calls                                               int
	// Probabilities: of a panic per message before the core sees it, per
	// reading that an actor publishes after its effects, and of a device
	// error per step.
	crash, crashBehind, deviceError float64
	leave                           float64 // share of calls whose client leaves
	quarantine                      bool    // suspects are run alone, and may fail
	pause                           time.Duration
	policy, eviction                string
	contiguous                      bool
	engines                         int
}

func (p plot) String() string {
	return fmt.Sprintf("TROUPE_SEED=%d page=%d pages=%d rows=%d chunk=%d context=%d retract=%d flight=%d nocache=%t ratio=%g calls=%d crash=%g behind=%g errors=%g leave=%g quarantine=%t policy=%s eviction=%s contiguous=%t engines=%d",
		p.seed, p.pageSize, p.pages, p.rows, p.chunk, p.context, p.retractEvery, p.inFlight, p.cacheOff, p.ratio, p.calls, p.crash, p.crashBehind, p.deviceError, p.leave, p.quarantine, p.policy, p.eviction, p.contiguous, p.engines)
}

func draw[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func newPlot(seed uint64) plot {
	r := rand.New(rand.NewPCG(seed, 1))
	p := plot{
		seed: seed, calls: 1 + r.IntN(8), pageSize: draw(r, 1, 4, 16), rows: draw(r, 1, 4, 64), chunk: draw(r, 7, 64, -1),
		context: 24 + r.IntN(60), retractEvery: draw(r, 0, 0, 3), cacheOff: r.IntN(4) == 0, ratio: draw(r, 0, 0.05, 0.2),
		crash: draw(r, 0, 0.001, 0.004, 0.01), crashBehind: draw(r, 0, 0.0005, 0.005), deviceError: draw(r, 0, 0, 0.02),
		leave: draw(r, 0, 0.3, 0.6), quarantine: r.IntN(4) == 0, inFlight: draw(r, 1, 2, 2),
		pause: draw(r, time.Microsecond, 50*time.Microsecond, 10*time.Millisecond),
	}
	p.policy = draw(r, queue.Policies()...)
	p.eviction, p.contiguous = draw(r, policies.Names()...), r.IntN(2) == 0
	p.engines = draw(r, 1, 1, 2, 3)
	p.pages = paging.Pages(p.context, p.pageSize)*draw(r, 1, 1, 2, 8) + r.IntN(3)
	return p
}

// limit bounds prompt and output of a request together, in tokens.
func (p *plot) limit() int { return min(p.context, p.pages*p.pageSize) }

const worldVocab = 48

// world is an engine of real actors, its device and its clients, all of which
// take turns in an order that the seed decides.
type world struct {
	plot
	*Engine
	order   *seeded.Scheduler
	rnd     *rand.Rand            // for what happens on the way
	models  []*fakemodel.Executor // of each engine
	table   *request.Table
	clients []*client
	arrived int
	audits  []chan *messages.SlotsAudited
	flushes []chan string

	crashed  any // what intake crashed on last
	crashes  int // injected into shells; into the supervisor they are not logged
	logged   int // panics that shells have reported
	shaken   int // panics injected into the supervisor
	toppled  int // epochs that ended because it panicked
	epochs   int
	fatal    error
	failure  error
	trace    uint64 // hash of everything that the actors received
	roleSeen [messages.Dispatch + 1]int
}

func (w *world) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
	}
}

// maxTurns bounds a run: beyond it something livelocks.
const maxTurns = 1_000_000

// play runs a plot to its end.
func play(system *actor.ActorSystem, p plot) (*world, error) {
	w := newWorld(p)
	if err := w.start(system); err != nil {
		return nil, err
	}
	for w.turn() {
	}
	w.plot.crash, w.crashBehind, w.deviceError = 0, 0, 0
	w.ask()
	for w.turn() {
	}
	w.checkEnd()
	w.stop()
	if w.failure != nil {
		return nil, fmt.Errorf("%v: turn %d: %w", p, w.order.Turns(), w.failure)
	}
	return w, nil
}

func (w *world) turn() bool {
	if w.order.Turns() > maxTurns {
		w.fail("no end after %d turns", maxTurns)
	}
	return w.failure == nil && w.order.Turn()
}

func newWorld(p plot) *world {
	limit := 1 << 30
	if p.quarantine {
		limit = 2
	}
	fake := fakemodel.Options{PageSize: p.pageSize, Pages: p.pages, MaxRows: p.rows, Vocab: worldVocab, Context: p.context,
		EOSChance: 0.03, CheckReads: true, Manual: true}
	w := &world{plot: p, order: seeded.New(p.seed), rnd: rand.New(rand.NewPCG(p.seed, 2)),
		table: request.NewTable(request.TableOptions{ContextLength: p.context, PoolTokens: p.pages * p.pageSize, Vocab: worldVocab,
			MaxOpenRequests: 1000, MaxLogprobs: 5, SuspectLimit: limit})}
	for range max(1, p.engines) {
		w.models = append(w.models, fakemodel.New(fake))
	}
	w.cast()
	return w
}

// start builds the engine, whose Start waits for turns to be taken.
func (w *world) start(system *actor.ActorSystem) error {
	started := make(chan error, 1)
	eviction, err := policies.ByName(w.eviction)
	if err != nil {
		return err
	}
	spec := Spec{
		Name:  fmt.Sprintf("seed-%d-%s", w.seed, system.ProcessRegistry.NextID()),
		Queue: queue.Options{SchedulePolicy: w.policy, Aging: time.Millisecond, CacheDisabled: w.cacheOff, PageSize: w.pageSize, Seed: w.seed},
		Batch: former.Options{PageSize: w.pageSize, Pages: w.pages, MaxRunning: w.rows, ChunkedPrefillSize: w.chunk, MaxPrefillTokens: 100,
			ContextLength: w.context, CacheDisabled: w.cacheOff, RetractEvery: w.retractEvery, StepsInFlight: w.inFlight, InitNewTokenRatio: w.ratio, AuditEveryStep: w.seed%2 == 0},
		Cache:  radix.Options{PageSize: w.pageSize, Disabled: w.cacheOff, Policy: eviction, History: policies.History(w.eviction, w.pages)},
		Alloc:  pages.Options{Pages: w.pages, Contiguous: w.contiguous},
		Intake: intake.Options{Table: w.table, Detokenizer: w},
		Meter:  w, Log: zerolog.New(w),
		Backoff:   Backoff{Base: w.pause, Cap: w.pause},
		OnFatal:   func(err error) { w.fatal = err },
		Intercept: w.intercept,
		Props:     func(messages.Actor) []actor.PropsOption { return w.order.Props() },
		Clock:     w.order.Now, After: w.order.After,
	}
	for _, model := range w.models {
		spec.Members = append(spec.Members, Member{Executor: model})
	}
	spec.Dispatch = dispatch.Options{Route: route.Options{Policy: draw(w.rnd, route.Policies()...), Seed: w.seed}}
	var engine *Engine
	go func() {
		var err error
		engine, err = Start(system, spec)
		started <- err
	}()
	if err := w.until(started); err != nil {
		return err
	}
	w.Engine = engine
	for w.order.Turn() { // so that where this ends does not depend on when Start returned
	}
	w.order.Add(draw(w.rnd, 1, 4, 30), func() bool { return len(w.busy()) > 0 }, w.complete)
	w.order.Add(1, func() bool { return w.arrived < len(w.clients) }, func() {
		w.clients[w.arrived].submit(w)
		w.arrived++
	})
	for _, c := range w.clients {
		c.join(w)
	}
	return nil
}

// until lets turns be taken until another goroutine is done.
func (w *world) until(done <-chan error) error {
	for {
		select {
		case err := <-done:
			return err
		default:
			if !w.order.Turn() {
				runtime.Gosched()
			}
		}
	}
}

// stop ends the actors; nothing of it is checked but that it comes to an end.
func (w *world) stop() {
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(context.Background()) }()
	if err := w.until(stopped); err != nil {
		w.fail("stop: %w", err)
	}
}

// complete lets the device finish a step, or fail in it.
func (w *world) complete() {
	model := draw(w.rnd, w.busy()...)
	if w.rnd.Float64() < w.deviceError {
		model.Inject(fakemodel.Fault{Step: model.Submitted(), Kind: fakemodel.FailStep})
	}
	model.Complete()
}

// busy are the devices that have a step.
func (w *world) busy() (list []*fakemodel.Executor) {
	for _, model := range w.models {
		if model.Pending() > 0 {
			list = append(list, model)
		}
	}
	return list
}

// intercept crashes actors in front of a message. Intake gets every message of
// a client again once; a second crash on it would be a fault that clients see.
func (w *world) intercept(role messages.Actor, msg any) {
	w.roleSeen[role]++
	w.trace = w.trace*1099511628211 + uint64(role)<<32 + uint64(len(fmt.Sprintf("%T", msg)))
	if w.rnd.Float64() >= w.plot.crash || msg == w.crashed {
		return
	}
	if role == messages.Intake {
		w.crashed = msg
	}
	w.crashes++
	panic(fmt.Sprintf("injected into %s on %T", role, msg))
}

// Record implements messages.Meter; it crashes actors after their effects.
func (w *world) Record(m messages.Metric, _ float64) {
	switch {
	case m == messages.EpochsStarted:
		w.epochs++
	case m == messages.AuditsFailed:
		w.fail("an audit failed")
	}
	if w.rnd.Float64() < w.crashBehind {
		if m == messages.EpochsStarted || m == messages.Ready {
			w.shaken++
		} else {
			w.crashes++
		}
		panic(fmt.Sprintf("injected after %s", m))
	}
}

// Write implements io.Writer for the log: it counts the panics.
func (w *world) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("an actor panicked")) {
		w.logged++
	}
	if bytes.Contains(line, []byte("the supervisor panicked")) {
		w.toppled++
	}
	return len(line), nil
}

// NewStream implements request.Detokenizer; its streams panic now and then.
func (w *world) NewStream([]int32, bool, bool) request.Stream { return frail{world: w} }

type frail struct {
	words
	world *world
}

func (f frail) Push(id int32) string {
	if w := f.world; w.rnd.Float64() < w.plot.crash/4 {
		w.crashes++
		panic("injected into the detokeniser")
	}
	return f.words.Push(id)
}

// quietSystem is an actor system without a log.
func quietSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }),
		actor.WithDeadLetterThrottleInterval(time.Millisecond))
}
