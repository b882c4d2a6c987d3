package simtest

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/link"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/portal"
)

// bridge is between a gateway and an engine: one link after the other. Frames go through
// protobuf. The network cuts a link now and then; then a new one begins.
type bridge struct {
	*World
	gateway *gateway
	engine  *engine
	near    *link.Engine  // the gateway's end; nil after the death of its process
	far     *link.Gateway // the engine's end; likewise
	epoch   messages.Epoch
	life    int // counts the links
}

// fingerprint is of all engines.
const fingerprint = "simulated"

// network is where cuts come from, and clocks.
var network = place{role: messages.Client}

// relink says that a new link may begin once an old one is over.
type relink struct{ life int }

func (b *bridge) nearEnd() place {
	return place{role: messages.Link, gateway: b.gateway, link: b}
}

func (b *bridge) farEnd() place {
	return place{role: messages.Link, engine: b.engine, link: b}
}

// between finds the way from a gateway to an engine.
func (w *World) between(g *gateway, e *engine) *bridge {
	for _, b := range w.bridges {
		if b.gateway == g && b.engine == e {
			return b
		}
	}
	panic("no way between the processes")
}

// connect begins a link.
func (b *bridge) connect() {
	limits := wire.Limits{Vocab: vocab, Context: min(b.cfg.ContextLength, b.cfg.Pages*b.cfg.PageSize), Logprobs: 5}
	near := link.Options{Limits: limits, Timeout: 1 << 40, Window: 1 << 10}
	far := near
	near.Slot, near.Epoch, near.Facts = b.engine.id, b.epoch, messages.EngineFacts{Fingerprint: fingerprint, PoolTokens: b.cfg.Pages * b.cfg.PageSize}
	far.Slot = b.gateway.slot
	b.near, b.far, b.life = link.NewEngine(near), link.NewGateway(far), b.life+1
	// Each end is a new actor, with an empty mailbox.
	b.loseMail(func(p place) bool { return p.link == b })
	b.post(b.nearEnd(), &messages.HeartbeatDue{})
	b.post(b.farEnd(), &messages.HeartbeatDue{})
}

// again has a new link begin once both ends of this one are over.
func (b *bridge) again() { b.post(b.nearEnd(), relink{b.life}) }

func (b *bridge) nearOver() bool { return b.near == nil || b.near.Over() }
func (b *bridge) farOver() bool  { return b.far == nil || b.far.Over() }

// post puts a message of the network on its way.
func (w *World) post(to place, msg any) {
	l := w.open(way{network, to})
	w.mail[l] = append(w.mail[l], msg)
}

// disturbLinks cuts a link now and then, and lets clocks run.
func (w *World) disturbLinks() {
	b := w.bridges[w.rnd.IntN(len(w.bridges))]
	if w.rnd.IntN(30) == 0 {
		w.post(pick(w.rnd, b.nearEnd(), b.farEnd()), &messages.HeartbeatDue{})
		if due := b.engine.reportDue; due != nil {
			w.post(b.engine.at(messages.Portal), due)
		}
	}
	if w.cfg.Cuts > 0 && !w.last && w.rnd.Float64() < w.cfg.Cuts {
		b.cut()
	}
}

// cut loses the frames on their way. Each end learns of it at some time.
func (b *bridge) cut() {
	b.stats.Cuts++
	b.mail[way{b.nearEnd(), b.farEnd()}] = nil
	b.mail[way{b.farEnd(), b.nearEnd()}] = nil
	b.post(b.nearEnd(), &messages.LinkBroken{Cause: "cut"})
	b.post(b.farEnd(), &messages.LinkBroken{Cause: "cut"})
	b.again()
}

// step runs the core of an end.
func (b *bridge) step(to place, msg any) {
	if m, again := msg.(relink); again {
		b.relink(m)
		return
	}
	if text, ok := msg.([]byte); ok {
		f := &wire.Frame{}
		if err := proto.Unmarshal(text, f); err != nil {
			b.fail("a frame: %w", err)
		}
		msg = &messages.FrameReceived{Frame: f}
	}
	over := b.nearOver() || b.farOver()
	switch {
	case to.gateway != nil && b.near != nil:
		b.near.Handle(b.now(), msg.(messages.ToLink), &b.out)
	case to.engine != nil && b.far != nil:
		b.far.Handle(b.now(), msg.(messages.ToLink), &b.out)
	}
	if !over && (b.nearOver() || b.farOver()) {
		b.again()
	}
}

func (b *bridge) relink(m relink) {
	switch {
	case m.life != b.life || b.gateway.dead || b.engine.dead: // another has begun, or none will
	case b.nearOver() && b.farOver():
		if b.near != nil {
			b.epoch = b.near.Epoch()
		}
		b.connect()
	default: // an end that hears nothing ends by itself
		if b.nearOver() || b.farOver() {
			b.post(b.farEnd(), &messages.LinkBroken{Cause: "silence"})
			b.post(b.nearEnd(), &messages.LinkBroken{Cause: "silence"})
		}
		b.post(b.nearEnd(), m)
	}
}

// frame is a message to the peer as bytes.
func frame(msg any) any {
	f, ok := msg.(*wire.Frame)
	if !ok {
		return msg
	}
	text, err := proto.Marshal(f)
	if err != nil {
		panic(err)
	}
	return text
}

// stepPortal runs the portal and checks that it asks the engine to release all requests of
// a gateway that leaves.
func (e *engine) stepPortal(msg messages.ToPortal) {
	e.portal.Handle(e.now(), msg, &e.out)
	switch m := msg.(type) {
	case *messages.EpochStarted, *messages.EpochEnded:
		clear(e.given)
	case *messages.StepResults:
		for i := range m.Ended {
			delete(e.given, m.Ended[i].ID)
		}
	}
	for _, s := range e.out.Sends {
		switch m := s.Msg.(type) {
		case *messages.EnqueueRequests:
			for _, r := range m.Requests {
				e.given[r.ID] = messages.HeaderOf(msg).Engine
			}
		case *messages.FinishRequests:
			for _, id := range m.IDs {
				delete(e.given, id)
			}
		}
	}
	if left, ok := msg.(*messages.GatewayLeft); ok {
		for _, id := range slices.Sorted(maps.Keys(e.given)) {
			if e.given[id] == left.Gateway {
				e.fail("gateway %d has left, and its request is not released: %d in engine %d", left.Gateway, id, e.id)
			}
		}
	}
}

const portalCrashed = "the portal crashed"

// crashPortal ends all links. The next portal asks the supervisor to end the engine's epoch;
// it may crash while it does.
func (e *engine) crashPortal(lost any) {
	e.portal = portal.Next(e.portal, lost)
	clear(e.given)
	for _, b := range e.bridges {
		if b.engine == e {
			b.cut()
		}
	}
	over := &messages.FailEpoch{From: messages.Portal, Cause: portalCrashed}
	if e.crashes(messages.Portal, over) {
		e.crashPortal(over)
		return
	}
	e.portal.Handle(e.now(), over, &e.out)
	for _, s := range e.out.Sends {
		e.send(e.at(messages.Portal), s.To, s.Msg)
	}
	e.out.Reset()
}

// checkUp verifies that a gateway can use an engine when nothing is left to do.
func (b *bridge) checkUp() {
	if !b.gateway.dead && !b.engine.dead && !b.near.Up() {
		b.fail("engine %d runs epoch %d, but gateway %d does not use it: %q", b.engine.id, b.engine.epoch, b.gateway.slot, b.near.Cause())
	}
}
