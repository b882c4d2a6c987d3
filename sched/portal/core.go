package portal

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Core is portal's actor core.
//
// Invariants, checked after each message in builds with invariants:
//
//  1. Each request in the engine has one origin. Those of a gateway that has left are
//     being released.
//  2. A gateway's open requests are exactly those with an origin in its present link.
//  3. While the engine is down, no request has an origin and no question is open.
//  4. The sums of load and meter are those of the requests in the engine.
//  5. While gateways wait for a list of the cached pages, one is being made for another.
type Core struct {
	engine   messages.Header // of the newest epoch
	up       bool
	broken   bool   // FailEpoch was sent; nothing of the epoch counts any more
	seq      uint64 // of the engine's newest StepResults
	gateways map[messages.EngineID]*gateway
	epochs   map[messages.EngineID]messages.Epoch // the newest of a slot, over all its links
	origins  map[messages.RequestID]origin        // by the engine's id
	last     messages.RequestID                   // the newest id
	asked    map[messages.Ticket]question         // by the engine's ticket
	tickets  messages.Ticket                      // the newest one
	touched  []*gateway                           // reused by split

	now   time.Duration       // of the message that is handled
	load  messages.EngineLoad // of all gateways, with the whole prompts
	meter meter
	alarm time.Duration // when the next report is due; 0: no timer
	list  list
}

// gateway is one link to a gateway.
type gateway struct {
	header messages.Header                           // what it sees: its slot, and the epochs that it was told of
	open   map[messages.RequestID]messages.RequestID // the engine's ids, by its own
	seq    uint64                                    // of the newest results sent to it
	part   *messages.StepResults                     // of the step that is split
	load   messages.EngineLoad                       // its part of the engine's
}

// origin is where a request comes from. The gateway may have left.
type origin struct {
	gateway *gateway
	id      messages.RequestID // the gateway's
	tokens  int32              // prompt and output when it was sent
	state   state
}

type state uint8

const (
	waiting    state = iota
	prefilling       // admitted
	running          // with a first token
)

// question is one of a gateway to the engine.
type question struct {
	gateway *gateway
	header  messages.Header // the gateway's when it asked
	ticket  messages.Ticket // the gateway's
}

// list is of the pages that are cached, for a gateway that joins: it has not heard of their
// CacheChanged. The cache makes it in parts, so that no other message waits for long. Only
// one is made at a time, to its end even if the gateway leaves, because the cache keeps
// account of it. Only one part of it is in memory.
type list struct {
	gateway *gateway        // that gets it; nil: none is made
	ticket  messages.Ticket // of the part that is awaited
	pages   int             // listed so far
	waiting []*gateway      // for theirs
}

// New returns a Core without gateways, with the engine down.
func New() *Core {
	return &Core{
		gateways: map[messages.EngineID]*gateway{}, epochs: map[messages.EngineID]messages.Epoch{},
		origins: map[messages.RequestID]origin{}, asked: map[messages.Ticket]question{},
	}
}

func (c *Core) inOrder() []*gateway {
	list := make([]*gateway, 0, len(c.gateways))
	for _, slot := range slices.Sorted(maps.Keys(c.gateways)) {
		list = append(list, c.gateways[slot])
	}
	return list
}

// linked reports whether a gateway has not left.
func (c *Core) linked(g *gateway) bool { return c.gateways[g.header.Engine] == g }

// of returns the gateway whose present epoch a header names, or nil. What was sent to an
// earlier epoch is counted and ignored: its requests have been returned.
func (c *Core) of(h messages.Header, out *messages.Outbox) *gateway {
	if g := c.gateways[h.Engine]; c.up && g != nil && g.header == h {
		return g
	}
	out.Record(messages.StaleMessages, 1)
	return nil
}

// current reports whether a message is of the engine's present epoch.
func (c *Core) current(h messages.Header, out *messages.Outbox) bool {
	if c.up && !c.broken && h == c.engine {
		return true
	}
	out.Record(messages.StaleMessages, 1)
	return false
}

func (c *Core) check() {
	for id, o := range c.origins {
		invariants.Check(c.up, "3: request %d has an origin while the engine is down", id)
		invariants.Check(!c.linked(o.gateway) || o.gateway.open[o.id] == id, "2: request %d is not open at gateway %d", id, o.gateway.header.Engine)
	}
	for slot, g := range c.gateways {
		for id, own := range g.open {
			o, ok := c.origins[own]
			invariants.Check(ok && o.gateway == g && o.id == id, "2: request %d of gateway %d has the id %d, which has another origin", id, slot, own)
		}
		invariants.Check(g.part == nil, "1: results for gateway %d were not sent", slot)
	}
	invariants.Check(c.list.gateway != nil || len(c.list.waiting) == 0, "5: %d gateways wait for a list that is not being made", len(c.list.waiting))
	invariants.Check(c.up || len(c.asked) == 0, "3: %d questions are open while the engine is down", len(c.asked))
}
