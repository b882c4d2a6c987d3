package simtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/troupe-engine/troupe/internal/fakemodel"
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/memory"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched"
)

// link is the way from one role to another.
type link struct{ from, to messages.Actor }

// World is a simulated engine with its clients.
type World struct {
	cfg     Config
	rnd     *rand.Rand
	device  *fakemodel.Executor
	clients []*client
	arrived int

	epoch  messages.Epoch
	queue  *sched.QueueCore
	former *sched.Former
	cache  *memory.CacheCore
	alloc  *memory.AllocCore

	links  []link // in order of first use
	mail   map[link][]any
	weight map[link]int // how eagerly the scheduler moves a link
	plans  int          // messages of a CommitPlan's ring on their way

	out     messages.Outbox
	seq     uint64 // of intake
	ticket  messages.Ticket
	asked   map[messages.Ticket]bool
	stats   Stats
	failure error
}

// Stats counts what happened in a run.
type Stats struct {
	Delivered, Steps, Epochs, Retractions, Audits, Flushes, Refusals, Replaced int
}

// maxDeliveries bounds a run: beyond it something livelocks.
const maxDeliveries = 400_000

// Run simulates one config and returns the first thing that is wrong.
func Run(cfg Config) (Stats, error) {
	w := &World{
		cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 2)), device: fakemodel.New(cfg.model()),
		mail: map[link][]any{}, weight: map[link]int{}, asked: map[messages.Ticket]bool{},
	}
	w.clients = cfg.requests(w.rnd)
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

// start begins an epoch.
func (w *World) start() {
	w.epoch++
	w.stats.Epochs++
	w.queue = sched.NewQueueCore(w.epoch, sched.QueueOptions{})
	w.former = sched.NewFormer(w.epoch, w.cfg.former())
	w.cache = memory.NewCacheCore(w.epoch, memory.CacheOptions{PageSize: w.cfg.PageSize, Disabled: w.cfg.CacheDisabled})
	w.alloc = memory.NewAllocCore(w.epoch, memory.AllocOptions{Pages: w.cfg.Pages})
	w.seq, w.plans = 0, 0
	var again []*messages.EngineRequest
	for _, cl := range w.clients {
		switch {
		case !cl.submitted || cl.released:
		case cl.ended:
			cl.released = true // the epoch that held it is gone
		default:
			again = append(again, cl.request())
		}
	}
	if len(again) > 0 {
		w.send(messages.Intake, messages.Queue, &messages.EnqueueRequests{Epoch: w.epoch, Requests: again})
	}
}

// turn does one thing; false when there is nothing left to do.
func (w *World) turn() bool {
	total := 0
	for _, l := range w.links {
		if len(w.mail[l]) > 0 {
			total += w.weight[l]
		}
	}
	if w.device.Pending() > 0 {
		total += w.weight[link{messages.Runner, messages.Runner}]
	}
	if w.arrived < len(w.clients) && (total == 0 || w.rnd.IntN(12) == 0) {
		w.arrive()
		return true
	}
	w.disturb()
	if total == 0 {
		return false
	}
	n := w.rnd.IntN(total)
	for _, l := range w.links {
		if len(w.mail[l]) == 0 {
			continue
		}
		if n -= w.weight[l]; n < 0 {
			m := w.mail[l][0]
			w.mail[l] = w.mail[l][1:]
			w.deliver(l.to, m)
			return true
		}
	}
	if w.cfg.DeviceErrors > 0 && w.rnd.Float64() < w.cfg.DeviceErrors {
		w.device.Inject(fakemodel.Fault{Step: w.device.Submitted(), Kind: fakemodel.FailStep})
	}
	w.device.Complete()
	return true
}

// send puts a message on its link.
func (w *World) send(from, to messages.Actor, msg any) {
	l := link{from, to}
	if w.weight[l] == 0 {
		w.links = append(w.links, l)
		w.weight[l] = pick(w.rnd, 1, 4, 30)
	}
	switch msg.(type) {
	case *messages.CommitPlan, *messages.ReservePages, *messages.PagesReserved:
		w.plans++
	}
	w.mail[l] = append(w.mail[l], msg)
}

// deliver gives a message to its role and carries out the effects.
func (w *World) deliver(to messages.Actor, msg any) {
	w.stats.Delivered++
	switch msg.(type) {
	case *messages.CommitPlan, *messages.ReservePages, *messages.PagesReserved:
		w.plans--
	}
	if w.cfg.Crashes > 0 && to != messages.Engine && to != messages.Intake && w.rnd.Float64() < w.cfg.Crashes {
		w.crash(w.suspects(to, msg))
		return
	}
	w.step(to, msg)
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
	epoch := w.epoch
	for _, s := range w.out.Sends {
		if epoch == w.epoch {
			w.send(to, s.To, s.Msg)
		}
	}
	w.out.Reset()
	if w.failure == nil && epoch == w.epoch {
		w.checkPages()
	}
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
		if !errors.As(err, &v) {
			panic(r)
		}
		w.fail("%s on %T: %w", to, msg, err)
	}()
	now := time.Duration(w.stats.Delivered) * time.Microsecond
	switch to {
	case messages.Intake:
		w.intake(msg)
	case messages.Queue:
		w.queue.Step(now, msg.(messages.ToQueue), &w.out)
	case messages.Batch:
		w.former.Step(now, msg.(messages.ToBatch), &w.out)
	case messages.Cache:
		w.cache.Step(now, msg.(messages.ToCache), &w.out)
	case messages.Alloc:
		w.alloc.Step(now, msg.(messages.ToAlloc), &w.out)
	case messages.Runner:
		w.launch(msg.(*messages.RunBatch))
	case messages.Engine:
		m := msg.(*messages.FailEpoch)
		if m.From == messages.Batch && w.cfg.DeviceErrors == 0 {
			w.fail("the batch former fails the epoch: %s", m.Cause)
		}
		w.crash(m.Suspects)
	}
}

func (w *World) suspects(to messages.Actor, msg any) []messages.RequestID {
	switch to {
	case messages.Queue:
		return w.queue.Suspects(msg.(messages.ToQueue))
	case messages.Batch:
		return w.former.Suspects(msg.(messages.ToBatch))
	case messages.Cache:
		return w.cache.Suspects(msg.(messages.ToCache))
	case messages.Alloc:
		return w.alloc.Suspects(msg.(messages.ToAlloc))
	}
	return nil
}

// launch is the runner: it hands a step to the device.
func (w *World) launch(m *messages.RunBatch) {
	if m.Epoch != w.epoch {
		return
	}
	w.stats.Replaced += len(m.Replaced)
	epoch := w.epoch
	if _, ok := w.weight[link{messages.Runner, messages.Runner}]; !ok {
		w.weight[link{messages.Runner, messages.Runner}] = pick(w.rnd, 1, 4, 30)
	}
	w.device.Submit(m, func(done *messages.BatchDone, err error) {
		switch {
		case epoch != w.epoch:
		case err != nil:
			w.send(messages.Runner, messages.Batch, &messages.BatchFailed{Epoch: epoch, Step: m.Step, Reason: err.Error()})
		default:
			w.send(messages.Runner, messages.Batch, done)
		}
	})
}

// crash ends the epoch. What was on its way vanishes, but for a few late
// messages that reach the new cores and must be ignored.
func (w *World) crash(suspects []messages.RequestID) {
	for _, id := range suspects {
		if cl := w.clients[id-1]; !cl.ended {
			if cl.strikes++; cl.strikes >= 2 {
				cl.alone = true
			}
		}
	}
	w.epoch++ // so that the device's callbacks find nobody
	for w.device.Complete() {
	}
	w.epoch--
	w.device.Reset()
	w.out.Reset()
	for _, l := range w.links {
		late := w.mail[l]
		w.mail[l] = nil
		if len(late) > 0 && l.to != messages.Engine && w.rnd.IntN(3) == 0 {
			w.mail[l] = late[:1]
		}
	}
	w.start()
	for _, l := range w.links {
		for _, m := range w.mail[l] {
			switch m.(type) {
			case *messages.CommitPlan, *messages.ReservePages, *messages.PagesReserved:
				w.plans++
			}
		}
	}
}

// checkPages verifies that every page has one owner, when no plan is moving
// any.
func (w *World) checkPages() {
	if w.plans > 0 {
		return
	}
	tree := w.cache.Tree()
	if n := w.alloc.Free() + tree.Evictable() + tree.Protected() + w.former.Load().Leased; n != w.cfg.Pages {
		w.fail("%d pages have an owner, of %d: %d free, %d evictable, %d protected, %d leased",
			n, w.cfg.Pages, w.alloc.Free(), tree.Evictable(), tree.Protected(), w.former.Load().Leased)
	}
}
