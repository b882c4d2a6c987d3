package dispatch

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// Core is dispatch's actor core.
//
// Invariants, checked after each message in builds with invariants:
//
//  1. Each request that intake has submitted and that has not ended is held, or
//     is in exactly one engine that is up.
//  2. Requests are held only while no engine is up that can continue them, or the only
//     ones are kept for a quarantined request. Quarantined ones also wait for each other.
//  3. Every question waits for at least one engine that is up.
//  4. Admitted and moving requests are in an engine.
//  5. The engine of the quarantined request is up. It has no other one.
//  6. Only held requests have a time since which no engine can take them.
type Core struct {
	opt     Options
	router  *route.Router   // it also knows which engine has a request
	own     messages.Header // towards intake
	engines []engine
	held    []*messages.EngineRequest // in order of submission, while no engine can have them
	alone   isolation
	// admitted are the requests that their engine has begun with, moving those that are to
	// be submitted again once their engine has released them.
	admitted, moving map[messages.RequestID]struct{}
	asked            map[messages.Ticket]*question
	started          bool       // EpochStarted was sent to intake
	seq              uint64     // of the newest StepResults to intake
	sent             []*relayed // not yet returned by intake, oldest first
	spare            []*relayed

	now     time.Duration                        // of the message that is handled
	begun   bool                                 // the first message has come
	down    time.Duration                        // since when no engine is up
	since   map[messages.RequestID]time.Duration // since when no engine that is up can take a held request
	alarm   time.Duration                        // when the pending timer is due; 0: none
	listing listing                              // for a portal
}

type engine struct {
	facts  messages.EngineFacts
	joined bool // always for an engine of this process
	portal bool // it is behind a portal, which does not reuse results
	// gateways is how many have a link to it, as reported; 0: not known.
	gateways int
	header   messages.Header // of its epoch
	up       bool
	broken   bool   // FailEpoch was sent; nothing of the epoch counts any more
	seq      uint64 // of its newest StepResults
}

// fits reports whether an engine can hold a request, and continues its output.
func (e *engine) fits(r *messages.EngineRequest) bool {
	switch {
	case len(r.Output) > 0 && r.Fingerprint != e.facts.Fingerprint:
		return false
	case e.facts.PoolTokens > 0:
		return len(r.Prompt)+r.Params.MaxTokens <= e.facts.PoolTokens
	}
	return true
}

// isolation is of the quarantined request that gets an engine to itself, until it has a
// token. Only one does at a time, so of several engines the others go on.
type isolation struct {
	id     messages.RequestID // 0: none
	engine int
	given  bool // the engine has it; before that, its other requests are moved
}

// listing is a list of the cached pages that a portal asks for, engine by engine. There is
// one at a time.
type listing struct {
	ticket messages.Ticket
	engine int
	after  uint64 // of the next part of the engine's list
	open   bool   // a part is being made
}

// relayed is a StepResults to intake. It shares the slices of the engine's own message,
// which goes back to the engine when intake has read it.
type relayed struct {
	messages.StepResults
	origin *messages.StepResults
}

// question is a question of intake to every engine. An engine whose epoch ends meanwhile
// has nothing to add: its cache is empty and its pages are free again.
type question struct {
	open    map[int]bool      // engines that have not answered
	sum     messages.ToIntake // of the answers; sent when all have come
	running int               // requests because of which engines refuse to flush
	some    bool              // an engine has answered
}

// New returns a Core for an incarnation of dispatch, counted from 1, with all engines
// down. It panics on options that Validate refuses.
func New(incarnation messages.Epoch, opt Options) *Core {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	c := &Core{
		opt: opt, router: route.New(opt.Route), own: messages.Header{Engine: Self, Epoch: incarnation},
		engines: make([]engine, opt.Route.Replicas), asked: map[messages.Ticket]*question{},
		admitted: map[messages.RequestID]struct{}{}, moving: map[messages.RequestID]struct{}{}, since: map[messages.RequestID]time.Duration{},
	}
	for i := range c.engines {
		c.engines[i].joined = true
		c.router.SetAvailable(i, false)
	}
	return c
}

// Own is the present header of dispatch towards intake.
func (c *Core) Own() messages.Header { return c.own }

// start lets intake submit.
func (c *Core) start(out *messages.Outbox) {
	c.started = true
	out.ToIntake(&messages.EpochStarted{Header: c.own, Isolates: true})
}

// current returns the engine whose present epoch a header names, or nil. Messages of
// older epochs are counted and ignored.
func (c *Core) current(h messages.Header, out *messages.Outbox) *engine {
	if int(h.Engine) < len(c.engines) {
		if e := &c.engines[h.Engine]; e.up && e.header == h && !e.broken {
			return e
		}
	}
	out.Record(messages.StaleMessages, 1)
	return nil
}

// keeps reports whether an engine is kept for the quarantined request.
func (c *Core) keeps(engine int) bool { return c.alone.id != 0 && c.alone.engine == engine }

func (c *Core) check() {
	for i := range c.engines {
		l := c.router.Load(i)
		invariants.Check(c.engines[i].up || l.Waiting+l.Running == 0, "1: %d requests are in engine %d, which is down", l.Waiting+l.Running, i)
	}
	for _, r := range c.held {
		_, given := c.router.Replica(r.ID)
		invariants.Check(!given, "1: request %d is held and in an engine", r.ID)
	}
	held := map[messages.RequestID]bool{}
	for _, r := range c.held {
		held[r.ID] = true
		for i := range c.engines {
			free := c.engines[i].up && c.engines[i].fits(r) && !c.keeps(i) && !(r.Alone && c.alone.id != 0)
			invariants.Check(!free, "2: request %d is held, but fits engine %d, which is up", r.ID, i)
		}
	}
	if a := c.alone; a.id != 0 {
		l := c.router.Load(a.engine)
		at, given := c.router.Replica(a.id)
		invariants.Check(c.engines[a.engine].up, "5: request %d is alone in engine %d, which is down", a.id, a.engine)
		invariants.Check(!a.given || given && at == a.engine && l.Waiting+l.Running == 1, "5: request %d is alone with %d others in engine %d", a.id, l.Waiting+l.Running-1, a.engine)
		invariants.Check(a.given != held[a.id], "5: request %d, given: %t, is held: %t", a.id, a.given, held[a.id])
		invariants.Check(a.given || l.Waiting+l.Running > 0, "5: request %d waits for engine %d, which is empty", a.id, a.engine)
	}
	for id := range c.since {
		invariants.Check(held[id], "6: request %d is not held", id)
	}
	for ticket, q := range c.asked {
		invariants.Check(len(q.open) > 0, "3: question %d waits for no engine", ticket)
		for i := range q.open {
			invariants.Check(c.engines[i].up, "3: question %d waits for engine %d, which is down", ticket, i)
		}
	}
	for _, list := range []map[messages.RequestID]struct{}{c.admitted, c.moving} {
		for id := range list {
			_, given := c.router.Replica(id)
			invariants.Check(given, "4: request %d is in no engine", id)
		}
	}
}
