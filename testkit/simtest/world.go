package simtest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
	intake "github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// World is a simulated engine with its clients.
type World struct {
	cfg     Config
	rnd     *rand.Rand
	device  *fakemodel.Executor
	calls   []*call
	arrived int
	byID    []*request // by id-1
	flushes []chan string
	audits  []chan *messages.SlotsAudited
	last    bool // the last questions have been asked

	table  *intake.Table
	intake *intake.Core
	// What intake knows of epochs, and how many results it has heard.
	heardEpoch messages.Epoch
	standing   bool
	seq        uint64

	epoch  messages.Epoch
	queue  *queue.Core
	former *former.Core
	cache  *radix.Core
	alloc  *pages.Core
	runner runner
	failed bool // the batch former has failed the epoch: its books are closed

	links  []link // in order of first use
	mail   map[link][]any
	weight map[link]int // how eagerly the scheduler moves a link
	pace   int          // and the device
	plans  int          // messages of a CommitPlan's ring on their way
	frozen frozen
	fenced map[messages.RequestID]bool // of the newest CommitPlan: inserted with KeepCopies

	crashCount int // messages to Config.CrashRole

	out     messages.Outbox
	stats   Stats
	failure error
}

// Stats counts what happened in a run.
type Stats struct {
	Delivered, Steps, Epochs, Retractions, Audits, Flushes, Refusals, Replaced, Settled int
	// Steps launched beside another one; pages that rows gave up while a step
	// read them; tokens drawn for requests that had ended, or lost in a crash.
	Beside, Copies, Dropped int
	// Several counts tokens behind the first that a step brought for a row.
	Several int
}

// maxDeliveries bounds a run: beyond it something livelocks.
const maxDeliveries = 400_000

// Run simulates one config and returns the first thing that is wrong.
func Run(cfg Config) (Stats, error) {
	w := &World{
		cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 2)), device: fakemodel.New(cfg.model()),
		mail: map[link][]any{}, weight: map[link]int{}, table: intake.NewTable(cfg.table()),
		frozen: frozen{on: cfg.Seed%8 == 0},
	}
	w.pace = pick(w.rnd, 1, 1, 10, 300) // a slow device has the next step planned in time
	w.intake = intake.NewCore(w.table, intake.CoreOptions{Detokenizer: detokenizer{w}})
	w.calls = cfg.calls(w.rnd)
	w.start()
	for w.failure == nil && w.turn() {
		if w.stats.Delivered > maxDeliveries {
			w.fail("no end after %d messages", w.stats.Delivered)
		}
	}
	if w.failure == nil {
		w.finish()
	}
	if w.failure != nil {
		return w.stats, fmt.Errorf("%v: epoch %d, message %d: %w", cfg, w.epoch, w.stats.Delivered, w.failure)
	}
	return w.stats, nil
}

func (w *World) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
	}
}

func (w *World) now() time.Duration { return time.Duration(w.stats.Delivered) * time.Microsecond }

// start begins an epoch.
func (w *World) start() {
	w.epoch++
	w.stats.Epochs++
	w.queue = queue.New(w.cfg.Policy)
	w.former = former.New(w.cfg.former())
	policy, err := policies.ByName(cmp.Or(w.cfg.Eviction, "lru"))
	if err != nil {
		panic(err)
	}
	w.cache = radix.New(radix.Options{PageSize: w.cfg.PageSize, Disabled: w.cfg.CacheDisabled, Policy: policy,
		History: policies.History(w.cfg.Eviction, w.cfg.Pages)})
	w.alloc = pages.New(pages.Options{Pages: w.cfg.Pages, Contiguous: w.cfg.Contiguous})
	w.runner, w.failed = runner{}, false
	w.send(messages.Engine, messages.Intake, &messages.EpochStarted{Header: messages.Header{Epoch: w.epoch}})
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
	if w.cfg.DeviceErrors > 0 && w.rnd.Float64() < w.cfg.DeviceErrors {
		w.device.Inject(fakemodel.Fault{Step: w.device.Submitted(), Kind: fakemodel.FailStep})
	}
	w.device.Complete()
	return true
}

// deliver gives a message to its role and carries out the effects.
func (w *World) deliver(l link, msg any) {
	w.stats.Delivered++
	w.count(msg, -1)
	w.frozen.arrived(w, l.to, msg)
	if w.crashes(l.to) {
		if l.to == messages.Intake && l.from != messages.Former {
			w.mail[l] = append([]any{msg}, w.mail[l]...) // it is delivered again
		}
		w.crash(l.to, w.suspects(l.to, msg))
		return
	}
	if m, ok := msg.(*messages.FinishRequests); ok && l.to == messages.Former && m.Epoch == w.epoch {
		for _, id := range m.IDs {
			w.byID[id-1].finishes++
		}
	}
	epoch := w.epoch
	w.note(l.to, msg)
	w.out.Own = messages.Header{}
	if l.to != messages.Intake && l.to != messages.Engine {
		w.out.Own.Epoch = w.epoch
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
	if epoch != w.epoch {
		sends = nil
	}
	for _, s := range sends {
		w.send(l.to, s.To, s.Msg)
	}
	w.out.Reset()
	if w.failure == nil && epoch == w.epoch {
		w.checkPages()
	}
}

// crashes decides whether a role panics at the message that it gets now.
func (w *World) crashes(to messages.Actor) bool {
	if to == messages.Engine {
		return false
	}
	if to == w.cfg.CrashRole && w.cfg.CrashAt > 0 {
		w.crashCount++
		return w.crashCount == w.cfg.CrashAt
	}
	return w.cfg.Crashes > 0 && w.rnd.Float64() < w.cfg.Crashes
}

// step runs one core. A violation is a finding, not a crash.
func (w *World) step(to messages.Actor, msg any) {
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
			w.crash(messages.Intake, w.intake.Suspects(nil))
		case errors.As(err, &v):
			w.fail("%s on %T: %w", to, msg, err)
		default:
			panic(r)
		}
	}()
	switch to {
	case messages.Intake:
		w.takeIntake(msg.(messages.ToIntake))
	case messages.Queue:
		w.queue.Step(w.now(), msg.(messages.ToQueue), &w.out)
	case messages.Former:
		w.former.Step(w.now(), msg.(messages.ToFormer), &w.out)
	case messages.Cache:
		w.cache.Step(w.now(), msg.(messages.ToCache), &w.out)
	case messages.Allocator:
		w.alloc.Step(w.now(), msg.(messages.ToAllocator), &w.out)
	case messages.Runner:
		w.runner.step(w, msg.(messages.ToRunner))
	case messages.Engine:
		w.failEpoch(msg.(*messages.FailEpoch))
	}
}

func (w *World) failEpoch(m *messages.FailEpoch) {
	switch {
	case m.Epoch != w.epoch:
	case m.From == messages.Former && w.cfg.DeviceErrors > 0:
		w.crash(messages.Engine, m.Suspects)
	default:
		w.fail("%s fails the epoch: %s", m.From, m.Cause)
	}
}

// crash ends the epoch. What was on its way inside of it vanishes, but for a
// few late messages that reach the new cores and must be ignored. What intake
// and clients have sent, and what is on its way to them, stays.
func (w *World) crash(who messages.Actor, suspects []messages.RequestID) {
	w.send(messages.Engine, messages.Intake, &messages.EpochEnded{Header: messages.Header{Epoch: w.epoch}, Cause: "crash", Suspects: suspects})
	if who == messages.Intake {
		w.intake = intake.NewCore(w.table, intake.CoreOptions{Detokenizer: detokenizer{w}})
	}
	w.epoch++ // so that the device's callbacks find nobody
	for w.device.Complete() {
	}
	w.epoch--
	w.device.Reset()
	w.out.Reset()
	w.plans = 0
	for _, l := range w.links {
		if l.to == messages.Intake || l.from == messages.Intake {
			continue
		}
		late := w.mail[l]
		w.mail[l] = nil
		if len(late) > 0 && l.to != messages.Engine && w.rnd.IntN(3) == 0 {
			w.mail[l] = late[:1]
			w.count(late[0], 1)
		}
	}
	w.start()
}

// suspects asks the core that crashes.
func (w *World) suspects(to messages.Actor, msg any) []messages.RequestID {
	switch to {
	case messages.Former:
		return w.former.Suspects(msg.(messages.ToFormer))
	case messages.Intake, messages.Runner, messages.Engine:
		return nil
	}
	return messages.Requests(msg)
}

// checkPages verifies that every page has one owner, when no plan is moving
// any.
func (w *World) checkPages() {
	if w.plans > 0 || w.failed {
		return
	}
	tree := w.cache.Tree()
	if n := w.alloc.Free() + tree.Evictable() + tree.Protected() + w.former.Load().Leased; n != w.cfg.Pages {
		w.fail("%d pages have an owner, of %d: %d free, %d evictable, %d protected, %d leased",
			n, w.cfg.Pages, w.alloc.Free(), tree.Evictable(), tree.Protected(), w.former.Load().Leased)
	}
}
