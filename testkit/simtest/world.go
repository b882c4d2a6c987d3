package simtest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/portal"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// World is one simulated engine, or several behind dispatch, with their clients. In a
// cluster they are behind the dispatch of each gateway.
type World struct {
	cfg     Config
	rnd     *rand.Rand
	calls   []*call
	arrived int
	last    bool // the final checks have been sent

	gateways []*gateway // one, unless in a cluster
	engines  []*engine
	bridges  []*bridge // of each gateway to each engine, in a cluster

	links  []way // in order of first use
	mail   map[way][]any
	weight map[way]int // how eagerly the scheduler moves a link
	pace   int         // and the devices

	crashCount int // messages to Config.CrashRole

	out     messages.Outbox
	stats   Stats
	failure error
}

// engine is one engine's cores and device.
type engine struct {
	*World
	id     messages.EngineID
	epoch  messages.Epoch
	queue  *queue.Core
	former *former.Core
	cache  *radix.Core
	alloc  *pages.Core
	runner runner
	device *fakemodel.Executor
	failed bool // the batch former has failed the epoch: its books are closed
	plans  int  // messages of a CommitPlan's ring on their way
	frozen frozen
	fenced map[messages.RequestID]bool              // of the newest CommitPlan: inserted with KeepCopies
	portal *portal.Core                             // in a cluster
	given  map[messages.RequestID]messages.EngineID // by the portal: slots of gateways, until the release is asked for
	// reportDue is the portal's timer, fatal that the step which runs kills the process.
	reportDue *messages.ReportDue
	fatal     bool
	dead      bool // its process has died and is not started again
}

func (e *engine) header() messages.Header { return messages.Header{Engine: e.id, Epoch: e.epoch} }

// Stats counts what happened in a run.
type Stats struct {
	Delivered, Steps, Epochs, Retractions, Audits, Flushes, Refusals, Replaced, Settled int
	// Steps launched beside another one; pages that rows gave up while a step
	// read them; tokens drawn for requests that had ended, or lost in a crash.
	Beside, Copies, Dropped int
	// Several counts the tokens after the first that a step brought for a row.
	Several int
	Late    int // rows whose mask was not ready
	Cuts    int // of links
	Deaths  int // of processes
	Aimed   int // crashes at CrashAt
}

// maxDeliveries bounds a run: a longer one is a livelock.
const maxDeliveries = 400_000

// Run simulates one config and returns the first thing that is wrong.
func Run(cfg Config) (Stats, error) {
	w := &World{
		cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 2)),
		mail: map[way][]any{}, weight: map[way]int{},
	}
	w.pace = pick(w.rnd, 1, 1, 10, 300) // a slow device has the next step planned in time
	w.calls = cfg.calls(w.rnd)
	for i := range max(1, cfg.Engines) {
		w.engines = append(w.engines, &engine{World: w, id: messages.EngineID(i), frozen: frozen{on: cfg.Seed%8 == 0}})
	}
	for i := range max(1, cfg.Gateways) {
		w.addGateway(messages.EngineID(i))
	}
	w.spreadCalls()
	for _, e := range w.engines {
		e.begin()
		for _, b := range w.bridges {
			if b.engine == e {
				b.connect()
			}
		}
		e.start()
	}
	for w.failure == nil && w.turn() {
		if w.stats.Delivered > maxDeliveries {
			w.fail("no end after %d messages", w.stats.Delivered)
		}
	}
	if w.failure == nil {
		w.finish()
	}
	if w.failure != nil {
		return w.stats, fmt.Errorf("%v: message %d: %w", cfg, w.stats.Delivered, w.failure)
	}
	return w.stats, nil
}

func (w *World) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
	}
}

func (w *World) now() time.Duration { return time.Duration(w.stats.Delivered) * time.Microsecond }

// begin is what the start of an engine's process does.
func (e *engine) begin() {
	e.device, e.fatal = fakemodel.New(e.cfg.model()), false
	e.resetDevice()
	if e.cfg.Cluster {
		e.portal, e.given = portal.New(), map[messages.RequestID]messages.EngineID{}
	}
}

// several reports whether dispatch is between intake and the engines.
func (w *World) several() bool { return w.gateways[0].dispatch != nil }

// start begins an epoch.
func (e *engine) start() {
	e.epoch++
	e.stats.Epochs++
	e.queue = queue.New(e.cfg.Policy)
	e.former = former.New(e.cfg.former())
	policy, err := policies.ByName(cmp.Or(e.cfg.Eviction, "lru"))
	if err != nil {
		panic(err)
	}
	e.cache = radix.New(radix.Options{PageSize: e.cfg.PageSize, Disabled: e.cfg.CacheDisabled, Policy: policy,
		History: policies.History(e.cfg.Eviction, e.cfg.Pages), Events: e.several()})
	e.alloc = pages.New(pages.Options{Pages: e.cfg.Pages, Contiguous: e.cfg.Contiguous})
	e.runner, e.failed, e.fatal = runner{}, false, false
	e.send(e.at(messages.Supervisor), messages.Intake, &messages.EpochStarted{Header: e.header()})
}

// turn does one thing; false when there is nothing left to do.
func (w *World) turn() bool {
	total := w.eagerness()
	if w.arrived < len(w.calls) && (total == 0 || w.rnd.IntN(12) == 0) {
		w.arrive()
		return true
	}
	w.disturb()
	if total = w.eagerness(); total == 0 {
		some := false
		for _, k := range w.calls {
			some = w.read(k) || some
		}
		return some || w.askLast()
	}
	n := w.rnd.IntN(total)
	for _, l := range w.links {
		if len(w.mail[l]) == 0 {
			continue
		}
		if n -= w.eager(l); n < 0 {
			m := w.mail[l][0]
			w.mail[l] = w.mail[l][1:]
			w.deliver(l, m)
			return true
		}
	}
	for _, e := range w.engines {
		if e.device.Pending() == 0 {
			continue
		}
		if n -= w.pace; n < 0 {
			e.complete()
			return true
		}
	}
	panic("nothing was eager")
}

// complete lets the device finish a step, or fail in it.
func (e *engine) complete() {
	if e.fatal {
		if e.cfg.AtOnce || !e.tells() {
			e.die(true)
		}
		return
	}
	if e.cfg.DeviceErrors > 0 && e.rnd.Float64() < e.cfg.DeviceErrors {
		e.device.Inject(fakemodel.Fault{Step: e.device.Submitted(), Kind: fakemodel.FailStep})
	}
	e.device.Complete()
}

// tells reports whether an engine's results are still on their way to its gateways.
func (e *engine) tells() bool {
	for _, l := range e.links {
		from, to := l.from.role, l.to.role
		out := from == messages.Former && to == messages.Portal || (from == messages.Portal || from == messages.Link) && to == messages.Link
		if out && l.from.engine == e && len(e.mail[l]) > 0 {
			return true
		}
	}
	return false
}

// deliver hands a message to its role and carries out the effects.
func (w *World) deliver(l way, msg any) {
	w.stats.Delivered++
	e := l.to.engine // nil outside the engines
	if l.to.dead() {
		return
	}
	if e != nil {
		e.count(msg, -1)
		e.frozen.arrived(e, l.to.role, msg)
	}
	if w.crashes(l.to.role, msg) {
		_, results := msg.(*messages.StepResults)
		again := l.to.role == messages.Intake && (!results || w.several() && w.rnd.IntN(2) == 0)
		if again {
			w.mail[l] = append([]any{msg}, w.mail[l]...)
		}
		w.crash(l.to, msg, again)
		return
	}
	if m, ok := msg.(*messages.FinishRequests); ok && w.acknowledges(l.to, m.Header) {
		for _, id := range m.IDs {
			w.holder(l.to).byID[id-1].finishes++
		}
	}
	w.out.Own = messages.Header{}
	var epoch messages.Epoch
	if e != nil {
		epoch = e.epoch
		e.note(l.to.role, msg)
		if l.to.ofEpoch() {
			w.out.Own = e.header()
		}
	} else {
		w.noteDropped(l.to.role, msg)
	}
	if w.out.Accepts(msg) {
		w.step(l.to, msg)
	}
	for _, r := range w.out.Readings {
		switch r.Metric {
		case messages.Retractions:
			w.stats.Retractions++
		case messages.AuditsPassed:
			w.stats.Audits++
		case messages.AuditsFailed:
			w.fail("an audit failed")
		case messages.Steps:
			w.stats.Steps++
		}
	}
	sends := w.out.Sends
	if e != nil && epoch != e.epoch {
		sends = nil
	}
	for _, t := range w.out.Timers {
		if due, ok := t.Msg.(*messages.ReportDue); ok {
			e.reportDue = due
		}
	}
	for _, s := range sends {
		w.send(l.to, s.To, s.Msg)
	}
	w.out.Reset()
	if e != nil && w.failure == nil && epoch == e.epoch {
		e.checkPages()
	}
}

// acknowledges reports whether a role answers a FinishRequests: dispatch does
// for those that no engine has.
func (w *World) acknowledges(to place, h messages.Header) bool {
	if w.several() {
		return to.role == messages.Dispatch && h == to.gateway.dispatch.Own()
	}
	return to.role == messages.Former && h == to.engine.header()
}

// holder is the gateway whose ids a place knows.
func (w *World) holder(at place) *gateway {
	if at.gateway != nil {
		return at.gateway
	}
	return w.gateways[0]
}

// crashes decides whether a role panics at the message that it gets now.
func (w *World) crashes(to messages.Actor, msg any) bool {
	if to == messages.Supervisor {
		return false
	}
	if to == w.cfg.CrashRole && w.cfg.CrashAt > 0 && (w.cfg.CrashOn == "" || w.cfg.CrashOn == kind(msg)) {
		if w.crashCount++; w.crashCount != w.cfg.CrashAt {
			return false
		}
		w.stats.Aimed++
		return true
	}
	return w.cfg.Crashes > 0 && w.rnd.Float64() < w.cfg.Crashes
}

// kind is the type of a message, without its package.
func kind(msg any) string { return strings.TrimPrefix(fmt.Sprintf("%T", msg), "*messages.") }

// step runs one core. A violation is a finding, not a crash.
func (w *World) step(to place, msg any) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		err, ok := r.(error)
		if !ok {
			panic(r)
		}
		var v invariants.Violation
		switch {
		case errors.Is(err, errDetok):
			w.crash(to, msg, false)
		case errors.As(err, &v):
			w.fail("%s on %T: %w", to.role, msg, err)
		default:
			panic(r)
		}
	}()
	e := to.engine
	switch to.role {
	case messages.Intake:
		to.gateway.takeIntake(msg.(messages.ToIntake))
	case messages.Dispatch:
		to.gateway.dispatch.Handle(w.now(), msg.(messages.ToDispatch), &w.out)
	case messages.Link:
		to.link.step(to, msg)
	case messages.Portal:
		e.stepPortal(msg.(messages.ToPortal))
	case messages.Queue:
		e.queue.Handle(w.now(), msg.(messages.ToQueue), &w.out)
	case messages.Former:
		e.former.Handle(w.now(), msg.(messages.ToFormer), &w.out)
	case messages.Cache:
		e.cache.Handle(w.now(), msg.(messages.ToCache), &w.out)
	case messages.Allocator:
		e.alloc.Handle(w.now(), msg.(messages.ToAllocator), &w.out)
	case messages.Runner:
		e.runner.step(e, msg.(messages.ToRunner))
	case messages.Supervisor:
		e.failEpoch(msg.(*messages.FailEpoch))
	}
}

func (e *engine) failEpoch(m *messages.FailEpoch) {
	switch {
	case m.Epoch != 0 && m.Epoch != e.epoch:
	case m.From == messages.Former && e.cfg.DeviceErrors > 0, m.From == messages.Dispatch, m.Cause == portalCrashed:
		e.end(m.Suspects)
	default:
		e.fail("%s fails the epoch: %s", m.From, m.Cause)
	}
}

// crash ends what a panic in a role ends; again says that the message will be
// taken once more. Intake continues with its table; with one engine its epoch
// ends, which covers all that intake may do about it. Dispatch makes everything
// start over.
func (w *World) crash(to place, msg any, again bool) {
	w.out.Reset()
	switch to.role {
	case messages.Intake:
		g := to.gateway
		suspects := g.intake.Suspects(nil)
		g.newIntake()
		if g.dispatch == nil {
			w.engines[0].end(suspects)
		} else if !again { // as after a second panic on the same message
			w.send(to, messages.Supervisor, &messages.FailEpoch{Header: g.heard, From: messages.Intake, Cause: "crash", Suspects: suspects})
		}
	case messages.Link:
		to.link.cut()
	case messages.Portal:
		to.engine.crashPortal(msg)
	case messages.Dispatch:
		to.gateway.crashDispatch()
	default:
		to.engine.end(to.engine.suspects(to.role, msg))
	}
}

// end ends the epoch. What was on its way inside of it vanishes, but for a few
// late messages that reach the new cores and must be ignored. What is on its way
// from and to others stays.
func (e *engine) end(suspects []messages.RequestID) {
	e.send(e.at(messages.Supervisor), messages.Intake, &messages.EpochEnded{Header: e.header(), Cause: "crash", Suspects: suspects})
	e.epoch++ // so that the device's callbacks have no effect
	for e.device.Complete() {
	}
	e.epoch--
	e.resetDevice()
	e.out.Reset()
	e.plans = 0
	for _, l := range e.links {
		if l.to.engine != e || l.from.engine != e || l.to.outlives() || l.from.outlives() {
			continue
		}
		late := e.mail[l]
		e.mail[l] = nil
		if len(late) > 0 && l.to.role != messages.Supervisor && e.rnd.IntN(3) == 0 {
			e.mail[l] = late[:1]
			e.count(late[0], 1)
		}
	}
	e.start()
}

// suspects asks the core that crashes.
func (e *engine) suspects(to messages.Actor, msg any) []messages.RequestID {
	switch to {
	case messages.Former:
		return e.former.Suspects(msg.(messages.ToFormer))
	case messages.Runner, messages.Supervisor:
		return nil
	}
	return messages.Requests(msg)
}

// checkPages verifies that every page has one owner, when no plan is moving
// any.
func (e *engine) checkPages() {
	if e.plans > 0 || e.failed {
		return
	}
	tree := e.cache.Tree()
	if n := e.alloc.Free() + tree.Evictable() + tree.Protected() + e.former.Load().Leased; n != e.cfg.Pages {
		e.fail("engine %d: %d pages have an owner, of %d: %d free, %d evictable, %d protected, %d leased", e.id,
			n, e.cfg.Pages, e.alloc.Free(), tree.Evictable(), tree.Protected(), e.former.Load().Leased)
	}
}
