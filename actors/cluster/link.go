package cluster

import (
	"cmp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/cluster/link"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// kind is which end of a link an actor is.
type kind string

const (
	playsEngine  kind = "engine"  // the gateway's end
	playsGateway kind = "gateway" // the engine's end
)

func linkName(k kind, slot messages.EngineID) string {
	return string(k) + "-" + strconv.Itoa(int(slot))
}

func linkPID(system *actor.ActorSystem, k kind, slot messages.EngineID) *actor.PID {
	return system.NewLocalPID(Name + "/" + linkName(k, slot))
}

// linger is how long a link's connection stays open after its end, for the goodbye.
const linger = 500 * time.Millisecond

// end is what the parent knows of an end of a link.
type end struct {
	kind  kind
	slot  messages.EngineID
	key   string // of this end
	peer  *actor.PID
	from  string        // the peer's incarnation
	node  string        // its name
	model *GatewayModel // for the gateway's end
	core  linkCore
	fault string // why its actor has panicked
	begun bool   // a frame has come, or this end begins
	wasUp bool
	// gone: the actor has stopped. Its timers must not reach the next one of its name.
	gone atomic.Bool
}

// after calls f after a time, unless the actor has stopped by then.
func (e *end) after(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		if !e.gone.Load() {
			f()
		}
	})
}

// linkCore is either end.
type linkCore interface {
	shell.Core[messages.ToLink]
	Over() bool
	Up() bool
	Cause() string
}

// linkActor is the actor of an end of a link. It stops when the link is over.
type linkActor struct {
	*shell.Actor[messages.ToLink]
	*end
	parent *parent
}

func (p *parent) linkProps(e *end) *actor.Props {
	c := p.cluster
	neighbour := map[kind]messages.Actor{playsEngine: messages.Dispatch, playsGateway: messages.Portal}[e.kind]
	inner := (*actor.PID)(nil)
	if e.model != nil {
		inner = e.model.Dispatch
	} else {
		inner = p.engine.Portal
	}
	entry := c.opt.Roster.Entry(Name+"/"+linkName(e.kind, e.slot), messages.Link.String())
	entry.For(e.node)
	opt := shell.Options{
		Role: messages.Link, Meter: c.opt.Meter, Log: c.opt.Log, Clock: c.opt.Clock, Intercept: c.opt.Intercept,
		After: e.after,
		Route: func(to messages.Actor, _ messages.Header) *actor.PID {
			switch to {
			case messages.Peer:
				return e.peer
			case neighbour:
				return inner
			}
			return nil
		},
		// The parent tells dispatch or the portal.
		OnPanic: func(_ actor.Context, _ any, fail *messages.FailEpoch) { e.fault = fail.Cause },
	}
	if inner := opt.Intercept; c.opt.Chaos {
		opt.Intercept = func(role messages.Actor, msg any) {
			if inner != nil {
				inner(role, msg)
			}
			entry.Trip()
		}
	}
	return actor.PropsFromProducer(func() actor.Actor {
		return &linkActor{shell.New[messages.ToLink](opt, e.core), e, p}
	}, entry.Options()...)
}

func (l *linkActor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		if l.kind == playsEngine {
			l.begun = true
			l.Handle(ctx, &messages.HeartbeatDue{})
		} else { // it sends nothing before the gateway does
			self, root := ctx.Self(), ctx.ActorSystem().Root
			l.after(l.parent.cluster.opt.Timeout, func() { root.Send(self, &unbegun{}) })
		}
	case *unbegun:
		if !l.begun {
			l.Handle(ctx, &messages.LinkBroken{Cause: "the gateway opened the link, but has sent nothing"})
		}
	case *wire.Frame:
		if transport.Key(ctx) != l.key {
			break // of an earlier link, whose actor had this name
		}
		l.begun = true
		l.Handle(ctx, &messages.FrameReceived{Frame: msg})
	default:
		l.Actor.Receive(ctx)
	}
	if up := l.core.Up(); l.model != nil && up != l.wasUp {
		l.wasUp = up
		l.model.count(up)
	}
	if l.core.Over() {
		ctx.Stop(ctx.Self())
	}
}

func (m *GatewayModel) count(up bool) {
	if up {
		m.up.Add(1)
	} else {
		m.up.Add(-1)
	}
}

// unbegun is the timer of an end whose gateway may not come.
type unbegun struct{}

// spawnEngine begins a link of this gateway.
func (p *parent) spawnEngine(ctx actor.Context, m *opened) {
	hello := m.link.Hello
	model := p.models[hello.Engine.Name]
	if model == nil {
		p.closed(m.link.Slot, m.key, "the model is not served any more")
		return
	}
	e := &end{
		kind: playsEngine, slot: m.link.Slot, key: m.key, from: hello.Incarnation, node: hello.Node, model: model,
		peer: p.cluster.transport.Connect(m.key, hello.Address, hello.Incarnation, m.peerKey),
		core: link.NewEngine(link.Options{
			Slot: m.link.Slot, Epoch: p.epochs[m.link.Slot], Limits: model.Limits, Timeout: p.cluster.opt.Timeout,
			Facts: messages.EngineFacts{Fingerprint: hello.Engine.Fingerprint, PoolTokens: int(min(hello.Engine.PoolTokens, hello.Engine.Context))},
		}),
	}
	p.core.Linked(m.link.Slot, &p.out)
	p.spawn(ctx, e)
}

// spawnGateway makes this engine's end of a link that a gateway opens, and returns its key.
// An earlier link of the gateway is left to its silence: any node may claim to be that
// gateway, and could end its links.
func (p *parent) spawnGateway(ctx actor.Context, hello *wire.Hello, peerKey string) string {
	slot := messages.EngineID(1) // 0 is this node's own gateway
	for p.ends[linkName(playsGateway, slot)] != nil {
		slot++
	}
	key := p.cluster.transport.Open(linkPID(p.cluster.system, playsGateway, slot))
	p.spawn(ctx, &end{
		kind: playsGateway, slot: slot, key: key, from: hello.Incarnation, node: hello.Node,
		peer: p.cluster.transport.Connect(key, hello.Address, hello.Incarnation, peerKey),
		core: link.NewGateway(link.Options{Slot: slot, Limits: p.engine.Limits, Timeout: p.cluster.opt.Timeout}),
	})
	return key
}

func (p *parent) spawn(ctx actor.Context, e *end) {
	name := linkName(e.kind, e.slot)
	p.ends[name] = e
	// The runtime tells a parent of the end of its actors. With Watch it would do so twice,
	// and the second time may be after the next one of this name has begun.
	if _, err := ctx.SpawnNamed(p.linkProps(e), name); err != nil {
		p.cluster.opt.Log.Error().Err(err).Str("actor", name).Msg("bug in the server: a link cannot start; please report it")
		p.stopped(name)
	}
}

// stopped frees the slot of a link whose actor has stopped.
func (p *parent) stopped(name string) {
	e := p.ends[name]
	if e == nil {
		return
	}
	delete(p.ends, name)
	e.gone.Store(true)
	p.cluster.transport.End(e.key)
	p.cluster.opt.Roster.Entry(Name+"/"+name, messages.Link.String()).Stopped()
	root := p.cluster.system.Root
	if core, ok := e.core.(*link.Engine); ok {
		p.epochs[e.slot] = core.Epoch()
		if e.wasUp {
			e.model.count(false)
		}
		if !core.Over() { // it panicked
			root.Send(e.model.Dispatch, &messages.EngineLeft{Engine: e.slot, Cause: e.fault, NoSuspects: true})
		}
		p.core.Unlinked(p.now(), e.slot, cmp.Or(e.fault, core.Cause()), &p.out)
	} else if !e.core.Over() {
		root.Send(p.engine.Portal, &messages.GatewayLeft{Gateway: e.slot})
	}
	time.AfterFunc(linger, func() { p.cluster.transport.Close(e.key) })
}
