package simtest

import (
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/link"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/portal"
)

// bridge is the link between the gateway and an engine, with the portal behind it. Frames
// go through protobuf. The network cuts it now and then; then a new one begins.
type bridge struct {
	portal *portal.Core
	near   *link.Engine  // the gateway's end
	far    *link.Gateway // the engine's end
	epoch  messages.Epoch
}

// network is where cuts come from, and clocks.
var network = place{role: messages.Client}

// relink says that a new link may begin once an old one is over.
type relink struct{ old *link.Engine }

// nearEnd is the gateway's end of the link to an engine, farEnd the engine's.
func (e *engine) nearEnd() place { return place{role: messages.Link, of: e} }
func (e *engine) farEnd() place  { return e.at(messages.Link) }

// newLink begins the life of a connection.
func (e *engine) newLink() {
	b := &e.bridge
	limits := wire.Limits{Vocab: vocab, Context: e.cfg.ContextLength + 1, Logprobs: 5}
	opt := link.Options{Limits: limits, Timeout: 1 << 40, Window: 1 << 10}
	near := opt
	near.Slot, near.Epoch, near.Facts = e.id, b.epoch, messages.EngineFacts{Fingerprint: "simulated", PoolTokens: e.cfg.Pages * e.cfg.PageSize}
	b.near, b.far = link.NewEngine(near), link.NewGateway(opt)
	// Each end is a new actor, with an empty mailbox.
	for _, l := range e.links {
		if l.to == e.nearEnd() || l.to == e.farEnd() {
			e.mail[l] = nil
		}
	}
	e.post(e.nearEnd(), &messages.HeartbeatDue{})
	e.post(e.farEnd(), &messages.HeartbeatDue{})
}

// post puts a message of the network on its way.
func (w *World) post(to place, msg any) {
	l := w.open(way{network, to})
	w.mail[l] = append(w.mail[l], msg)
}

// disturbLinks cuts a link now and then, and lets clocks run.
func (w *World) disturbLinks() {
	e := w.engines[w.rnd.IntN(len(w.engines))]
	if w.rnd.IntN(30) == 0 {
		w.post(pick(w.rnd, e.nearEnd(), e.farEnd()), &messages.HeartbeatDue{})
	}
	if w.cfg.Cuts > 0 && !w.last && w.rnd.Float64() < w.cfg.Cuts {
		e.cutLink()
	}
}

// cutLink loses the frames on their way. Each end learns of it at some time.
func (e *engine) cutLink() {
	e.stats.Cuts++
	for _, l := range e.links {
		if l.from == e.nearEnd() && l.to == e.farEnd() || l.from == e.farEnd() && l.to == e.nearEnd() {
			e.mail[l] = nil
		}
	}
	e.post(e.nearEnd(), &messages.LinkBroken{Cause: "cut"})
	e.post(e.farEnd(), &messages.LinkBroken{Cause: "cut"})
	e.post(e.nearEnd(), relink{e.bridge.near})
}

// stepBridge runs the cores of a link.
func (w *World) stepBridge(to place, msg any) {
	e, near := to.engine, false
	if to.of != nil {
		e, near = to.of, true
	}
	b := &e.bridge
	if m, again := msg.(relink); again {
		switch {
		case m.old != b.near: // it has begun
		case b.near.Over() && b.far.Over():
			b.epoch = b.near.Epoch()
			e.newLink()
		default: // an end that hears nothing ends by itself
			if b.near.Over() || b.far.Over() {
				e.post(e.farEnd(), &messages.LinkBroken{Cause: "silence"})
				e.post(e.nearEnd(), &messages.LinkBroken{Cause: "silence"})
			}
			e.post(e.nearEnd(), msg)
		}
		return
	}
	if text, ok := msg.([]byte); ok {
		f := &wire.Frame{}
		if err := proto.Unmarshal(text, f); err != nil {
			w.fail("a frame: %w", err)
		}
		msg = &messages.FrameReceived{Frame: f}
	}
	over := b.near.Over() || b.far.Over()
	if near {
		b.near.Handle(w.now(), msg.(messages.ToLink), &w.out)
	} else {
		b.far.Handle(w.now(), msg.(messages.ToLink), &w.out)
	}
	if !over && (b.near.Over() || b.far.Over()) {
		e.post(e.nearEnd(), relink{e.bridge.near})
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

// crashDispatch has the gateway start over: every link ends and begins again.
func (w *World) crashDispatch() {
	own := w.dispatch.Own()
	w.dispatch = dispatch.New(own.Epoch, w.cfg.dispatch())
	w.dispatch.Handle(w.now(), &messages.FailEpoch{Header: own, From: messages.Dispatch, Cause: "crash"}, &w.out)
	for _, s := range w.out.Sends {
		w.send(place{role: messages.Dispatch}, s.To, s.Msg)
	}
	w.out.Reset()
	for _, e := range w.engines {
		e.stats.Cuts++
		e.post(e.nearEnd(), &messages.EndLink{Cause: "dispatch crashed"})
		e.post(e.nearEnd(), relink{e.bridge.near})
	}
}

// crashPortal ends the link and the epoch of the engine.
func (e *engine) crashPortal() {
	e.bridge.portal = portal.New()
	e.cutLink()
	e.end(nil)
}
