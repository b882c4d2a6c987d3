package former

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Core is the batch former's actor core: a loop over parts that each own their state.
// It forms one step after the other. In builds with invariants, each message is
// followed by a check of the parts' invariants and one of its own:
//
//  8. A cancelled or closing sequence has a lease that a step or a plan still uses.
type Core struct {
	opt   *Options
	now   time.Duration // of the message that is handled
	phase phase
	plan  plan

	batch     batch
	pages     ledger
	flight    inFlight
	pressure  pressure
	prefill   prefill
	admission admission
	reports   reports
	admin     admin
	shapes    shapes
}

// New returns a batch former of a free pool. It panics on options that Validate refuses.
func New(opt Options) *Core {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	opt = opt.withDefaults()
	o := &opt
	return &Core{
		opt: o, batch: newBatch(o), pages: newLedger(o), flight: newInFlight(o),
		pressure: newPressure(o), prefill: newPrefill(o), reports: reports{opt: o}, admin: admin{opt: o},
	}
}

// Load is what a batch former holds, for status pages and tests.
type Load struct {
	Running   int // sequences with a lease
	Retracted int // sequences that wait to be admitted again
	Leased    int // private pages of leases, and pages to be freed when a step is done
	Resting   bool
}

func (c *Core) Load() Load {
	return Load{len(c.batch.running), len(c.batch.retracted), c.pages.leased(c.batch.running),
		c.phase == resting && !c.admin.out && c.flight.idle()}
}

// Suspects returns the requests in a message, each once: suspects if handling it fails.
func (c *Core) Suspects(msg messages.ToFormer) []messages.RequestID {
	ids := messages.Requests(msg)
	switch m := msg.(type) {
	case *messages.PagesReserved:
		if held := c.flight.heldResult; held != nil {
			ids = append(ids, c.flight.requests(held.Step)...)
		}
	case *messages.PagesRefused:
		for _, s := range c.plan.reserves {
			ids = append(ids, s.req.ID)
		}
	case *messages.BatchDone:
		ids = c.flight.requests(m.Step)
	case *messages.BatchFailed:
		ids = c.flight.requests(m.Step)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (c *Core) snapshot() snapshot {
	return snapshot{batch: &c.batch, now: c.now, ratio: c.pressure.ratio.now,
		freeRows: c.pages.rows.Free(), reservable: c.pages.reservableNow(c.flight.done), settled: c.flight.idle()}
}

// missing is how many pages the running batch needs for its next steps.
func (c *Core) missing(steps int) int {
	n := 0
	for _, s := range c.batch.running {
		n += s.missing(steps, c.opt)
	}
	return n
}

// must fails unless the batch former was waiting for the message that has come.
func (c *Core) must(ok bool, what string) {
	if !ok {
		invariants.Fail("%s came while the batch former is %s, with %d steps in flight", what, c.phase, len(c.flight.steps))
	}
}

func (c *Core) fail(cause string, suspects []messages.RequestID, sticky bool, out *messages.Outbox) {
	c.phase.to(failed)
	out.ToSupervisor(&messages.FailEpoch{From: messages.Former, Cause: cause, Suspects: suspects, Sticky: sticky})
}

func (c *Core) send(m *messages.CommitPlan, next phase, out *messages.Outbox) {
	c.admin.committed(m)
	out.ToCache(m)
	c.phase.to(next)
}

func (c *Core) recordState(out *messages.Outbox) {
	used := c.opt.Pages - c.pages.free - c.pages.cached.Evictable
	out.Record(messages.RequestsRunning, float64(c.batch.active()))
	out.Record(messages.RequestsRetracted, float64(len(c.batch.retracted)))
	out.Record(messages.PagesLeased, float64(used-c.pages.cached.Protected))
	out.Record(messages.TokenUsage, float64(used)/float64(c.opt.Pages))
	out.Record(messages.NewTokenRatio, c.pressure.ratio.now)
}

// check fails on the first invariant that does not hold, by its number.
func (c *Core) check() {
	if c.phase == failed {
		return
	}
	planOut := c.phase.committed()
	c.batch.check()
	c.pages.check(c.batch.running, planOut || c.phase == flushing)
	c.flight.check(&c.batch, c.pages.released, planOut)
	for _, s := range c.batch.running {
		invariants.Check(s.active() || planOut || !s.lease.Settled(c.flight.done), "8: request %d is %s and nothing uses its lease", s.req.ID, s.state)
	}
}
