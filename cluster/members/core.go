package members

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// Protocol is the version of the messages between nodes.
const Protocol = 1

const (
	// mostPeers bounds the addresses that a node knows. More are ignored.
	mostPeers = 1024
	// between is the time between two calls to a node that answers, retry and longest the
	// first and the longest time after one that does not.
	between = 500 * time.Millisecond
	retry   = 100 * time.Millisecond
	longest = 2 * time.Second
	// patience is how many calls to a new address fail before that is reported: nodes that
	// start together are not all there at once.
	patience = 6
	// remember is how long the address of a refused node is known after its last call. It is
	// longer than the time between two calls, so a refusal is reported once.
	remember = 5 * longest
)

type Options struct {
	// Self is what this node says of itself. Its State and Engine change.
	Self *wire.Hello
	// Timeout is the silence after which a node is lost (cluster-peer-timeout). It must be set.
	Timeout time.Duration
	// Own is the served name of this node's engine, which Set adds later; "" if it has none.
	Own string
	// Resume is how long requests wait for an engine of their model (cluster-resume-wait).
	Resume time.Duration
	// Busy reports whether requests for a model are open here; nil: never.
	Busy func(model string) bool
	// Keep is how long a lost node stays in the list; 0 means 10m.
	Keep time.Duration
}

// Core is the state. Its methods are called one at a time.
//
// Invariants:
//
//  1. A slot has at most one peer, and a peer at most one slot.
//  2. A link is opened only to an engine whose model is open here.
type Core struct {
	opt    Options
	self   *wire.Hello
	peers  map[string]*peer // by address
	models map[string]*model
	slots  map[messages.EngineID]*peer
}

// peer is an address at which a node may be.
type peer struct {
	address  string
	proposed bool // by discovery, now
	hello    *wire.Hello
	heard    time.Duration // the last one
	lost     bool
	left     bool          // the process of hello has said that it shuts down
	refused  string        // why the node is not used; "" if it is
	shunned  time.Duration // when it was refused last
	calling  bool
	failures int // calls in a row
	next     time.Duration
	slot     messages.EngineID // 0: no link
	linked   bool              // false while it is opened
	tries    int               // links in a row that could not be opened, or ended at once
	begun    time.Duration     // when the link was asked for
	again    time.Duration     // when the next link may be opened
}

// Outbox is what the shell does next.
type Outbox struct {
	Calls  []string // addresses to call with a hello
	Learn  []Learn  // models to open, in place of an older one of that name
	Forget []string // models to close: they have no engine any more
	Links  []Link   // links to open
	Events []Event
}

// Learn asks for the texts of a model.
type Learn struct {
	Address string
	Model   *wire.Model
}

// Link is a link to open from this gateway.
type Link struct {
	Slot  messages.EngineID
	Hello *wire.Hello // the engine's
}

// Event is something that operators should see.
type Event struct {
	Kind string // as in package report
	Node string // that it is about; "" if it is about an address or a model
	Text string
}

func New(opt Options) *Core {
	opt.Keep = cmp.Or(opt.Keep, 10*time.Minute)
	if opt.Busy == nil {
		opt.Busy = func(string) bool { return false }
	}
	return &Core{opt: opt, self: opt.Self, peers: map[string]*peer{}, models: map[string]*model{}, slots: map[messages.EngineID]*peer{}}
}

// Propose replaces the addresses of discovery. A peer that is not proposed any more stays
// as long as it answers.
func (c *Core) Propose(addresses []string) {
	for _, p := range c.peers {
		p.proposed = false
	}
	for _, a := range addresses {
		if p := c.peer(a); p != nil {
			p.proposed = true
		}
	}
}

// peer returns the peer of an address; nil for this node's own, and if there are too many.
func (c *Core) peer(address string) *peer {
	p := c.peers[address]
	if p == nil && address != "" && address != c.self.Address && len(c.peers) < mostPeers {
		p = &peer{address: address}
		c.peers[address] = p
	}
	return p
}

// Tick is due every 50 ms or so.
func (c *Core) Tick(now time.Duration, out *Outbox) {
	for _, address := range slices.Sorted(maps.Keys(c.peers)) {
		p := c.peers[address]
		if p.here() && now-p.heard > c.opt.Timeout {
			c.lose(p, fmt.Sprintf("nothing was heard of it for %v", c.opt.Timeout), out)
		}
		gone := p.hello == nil || p.left || p.lost && now-p.heard > c.opt.Keep
		gone = gone && (p.refused == "" || now-p.shunned > remember)
		if gone && !p.proposed && !p.calling && p.slot == 0 && p.failures > 0 {
			delete(c.peers, address)
			continue
		}
		if !p.calling && now >= p.next {
			p.calling = true
			out.Calls = append(out.Calls, address)
		}
	}
}

// Answered is the answer of a call to an address, or why there is none.
func (c *Core) Answered(now time.Duration, address string, h *wire.Hello, err error, out *Outbox) {
	p := c.peers[address]
	if p == nil {
		return
	}
	p.calling = false
	if err != nil {
		p.next = now + min(longest, retry<<min(p.failures, 10))
		p.failures++
		if p.hello == nil && p.failures == patience {
			out.Events = append(out.Events, Event{report.EventUnreachable, "", fmt.Sprintf("the node at %s cannot be used: %v", address, err)})
		}
		return
	}
	p.failures, p.next = 0, now+between
	if h.Incarnation == c.self.Incarnation { // this node under another address
		if p.slot == 0 { // else it claims to be this node
			delete(c.peers, address)
		}
		return
	}
	if p = c.canonical(now, p, h); p != nil {
		c.met(now, p, h, true, out)
	}
}

// canonical is the peer that a node's answer is for. A node may be found at another
// address than the one at which it says others reach it, for example at a host's name.
// Only the latter counts, or one node would be two peers and have two links. A peer with a
// link stays what it is until the link is over.
func (c *Core) canonical(now time.Duration, p *peer, h *wire.Hello) *peer {
	at := c.peers[h.Address]
	if h.Address == p.address || p.slot != 0 || c.check(now, at, h) != nil {
		return p
	}
	p.hello, p.lost, p.left, p.refused = nil, false, false, ""
	p.next = now + longest // the other address is called as well
	return c.peer(h.Address)
}

// Called is the hello of a node that has called. The error tells it why it is refused.
func (c *Core) Called(now time.Duration, h *wire.Hello, out *Outbox) error {
	if h.Incarnation == c.self.Incarnation {
		return nil
	}
	p := c.peer(h.Address)
	if p == nil {
		if err := c.check(now, nil, h); err != nil {
			return err
		}
		return fmt.Errorf("node %s knows %d addresses; more are not allowed", c.self.Node, mostPeers)
	}
	c.met(now, p, h, false, out)
	if p.refused != "" {
		return fmt.Errorf("%s", p.refused)
	}
	return nil
}

// met records a node's hello. answer says that it is the answer to a call.
func (c *Core) met(now time.Duration, p *peer, h *wire.Hello, answer bool, out *Outbox) {
	before := p.refused
	p.refused = ""
	if err := c.check(now, p, h); err != nil {
		p.refused, p.shunned = err.Error(), now
	} else {
		c.accept(now, p, h, answer, out)
	}
	if p.refused != "" && p.refused != before {
		out.Events = append(out.Events, Event{report.EventRefused, h.Node, p.refused})
	}
}

// accept records the hello of a node that passed the checks.
func (c *Core) accept(now time.Duration, p *peer, h *wire.Hello, answer bool, out *Outbox) {
	same := p.hello.GetIncarnation() == h.Incarnation
	// Any node may say that another one leaves. Only the answer of the latter to a later call
	// disproves it: a call takes no longer than Timeout.
	stayed := answer && now-p.heard > c.opt.Timeout && h.State != report.Leaving
	switch {
	case same && p.left && !stayed: // for example an answer that its last hello has overtaken
		return
	case h.State == report.Leaving:
		if same && !p.lost {
			p.left, p.heard = true, now
			out.Events = append(out.Events, Event{report.EventLeft, h.Node, fmt.Sprintf("node %s at %s has shut down", h.Node, p.address)})
		}
		return
	case !same || p.lost || p.left:
		if p.here() {
			c.lose(p, "a new process answers at this address", out)
		}
		p.lost, p.left, p.tries = false, false, 0
		out.Events = append(out.Events, Event{report.EventJoined, h.Node, fmt.Sprintf("node %s has joined at %s", h.Node, h.Address)})
	}
	p.hello, p.heard = h, now
	for _, a := range h.Known {
		c.peer(a)
	}
	c.consider(now, p, out)
}

// here reports whether the node has been met, and neither left nor was lost.
func (p *peer) here() bool { return p.hello != nil && !p.lost && !p.left }

func (c *Core) lose(p *peer, why string, out *Outbox) {
	p.lost = true
	out.Events = append(out.Events, Event{report.EventLost, p.hello.Node, fmt.Sprintf("node %s at %s is lost: %s", p.hello.Node, p.address, why)})
}

// consider opens a link to an engine that has none. A node that shuts down opens none.
func (c *Core) consider(now time.Duration, p *peer, out *Outbox) {
	if !c.self.Gateway || c.self.State == report.Leaving || p.hello.Engine == nil || p.slot != 0 || !p.here() || p.refused != "" || now < p.again {
		return
	}
	if !c.open(now, p, out) {
		return
	}
	slot := messages.EngineID(1)
	for c.slots[slot] != nil {
		slot++
	}
	p.slot, p.linked, p.begun, c.slots[slot] = slot, false, now, p
	out.Links = append(out.Links, Link{slot, p.hello})
}

// Linked says that the link of a slot has begun.
func (c *Core) Linked(slot messages.EngineID, out *Outbox) {
	if p := c.slots[slot]; p != nil {
		p.linked = true
		out.Events = append(out.Events, Event{report.EventLinked, p.hello.Node, fmt.Sprintf("the link to engine %s has begun", p.hello.Node)})
	}
}

// Unlinked says that the link of a slot is over, or could not be opened.
func (c *Core) Unlinked(now time.Duration, slot messages.EngineID, cause string, out *Outbox) {
	p := c.slots[slot]
	if p == nil {
		return
	}
	delete(c.slots, slot)
	if p.linked {
		out.Events = append(out.Events, Event{report.EventUnlinked, p.hello.Node, fmt.Sprintf("the link to engine %s is over: %s", p.hello.Node, cause)})
	}
	// A link that can be opened may still not work: frames may get through in one direction only.
	if p.linked && now-p.begun > 2*c.opt.Timeout {
		p.tries = 0
	}
	p.again = now + min(longest, retry<<min(p.tries, 10))
	p.tries++
	p.slot, p.linked = 0, false
	p.next = min(p.next, p.again) // its answer opens the next link
	if m := c.models[p.hello.GetEngine().GetName()]; m != nil {
		m.left = now
	}
}
