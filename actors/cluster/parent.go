package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/cluster/members"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// Messages to the parent, of this package only.
type (
	tick          struct{ _ byte } // not empty, so that each one has an address of its own
	proposed      struct{ addresses []string }
	serve         struct{ engine *Engine }
	list          struct{ reply chan<- []members.Node }
	leave         struct{ done chan struct{} }
	lastHelloDone struct{ _ byte } // a node has got it, or does not answer
	// restarted: dispatch, or the portal if it is nil, has started over.
	restarted struct{ dispatch *actor.PID }
	// answered is the end of a call to an address.
	answered struct {
		address string
		hello   *wire.Hello
		err     error
	}
	// learned is the end of opening a model.
	learned struct {
		model   *wire.Model
		gateway *GatewayModel
		err     error
	}
	// opened is the end of the call that opens a link.
	opened struct {
		link         members.Link
		key, peerKey string
		err          error
	}
	// called is a call of another node. open is set if it opens a link.
	called struct {
		hello *wire.Hello
		open  *wire.OpenLink
		reply chan<- reply
	}
	reply struct {
		hello *wire.Hello
		key   string
		err   error
	}
)

// period is the time between two looks at the peers.
const period = 50 * time.Millisecond

// parent is the actor.
type parent struct {
	cluster *Cluster
	core    *members.Core
	out     members.Outbox
	engine  *Engine // nil if there is none yet
	// withdrawn: the engine is taken out of service.
	withdrawn  bool
	models     map[string]*GatewayModel
	ends       map[string]*end // by the name of the actor
	epochs     map[messages.EngineID]messages.Epoch
	leaving    chan struct{}
	lastHellos int // on their way
	entry      *roster.Entry
	ctx        context.Context // ends with the actor
	cancel     context.CancelFunc
}

func newParent(c *Cluster, core *members.Core, entry *roster.Entry) *parent {
	p := &parent{cluster: c, core: core, entry: entry, models: map[string]*GatewayModel{}, ends: map[string]*end{}, epochs: map[messages.EngineID]messages.Epoch{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if c.opt.Engine != nil {
		p.serve(c.opt.Engine)
	}
	return p
}

func (p *parent) now() time.Duration { return p.cluster.opt.Clock() }

func (p *parent) send(msg any) { p.cluster.system.Root.Send(p.cluster.pid, msg) }

func (p *parent) Receive(ctx actor.Context) {
	p.entry.Trip()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		p.send(&tick{})
	case *actor.Stopping:
		p.cancel()
	case *actor.Terminated:
		p.stopped(strings.TrimPrefix(m.Who.Id, Name+"/"))
		p.left()
	case *tick:
		if p.leaving != nil {
			return
		}
		p.core.Tick(p.now(), &p.out)
		time.AfterFunc(period, func() { p.send(&tick{}) })
	case *proposed:
		p.core.Propose(m.addresses)
	case *serve:
		p.serve(m.engine)
	case *answered:
		p.core.Answered(p.now(), m.address, m.hello, m.err, &p.out)
	case *learned:
		if m.err == nil {
			p.models[m.model.Name] = m.gateway
		}
		p.core.Learned(p.now(), m.model.Name, m.err, &p.out)
	case *opened:
		switch {
		case m.err != nil:
			p.closed(m.link.Slot, m.key, m.err.Error())
		case p.leaving != nil: // leave could not end it
			p.closed(m.link.Slot, m.key, p.shuttingDown())
		default:
			p.spawnEngine(ctx, m)
		}
	case *called:
		p.called(ctx, m)
	case *restarted:
		p.endLinks(ctx, m.dispatch)
	case *textsOf:
		answer(m.reply, p.texts(m.hash))
	case *withdraw:
		p.withdraw(ctx, m)
	case *findEnd:
		answer(m.reply, p.find(m))
	case *list:
		answer(m.reply, p.core.List(p.now()))
	case *leave:
		p.leave(ctx, m)
	case *lastHelloDone:
		p.lastHellos--
		p.left()
	}
	p.carryOut()
}

// answer replies to a message. After a panic the actor handles it again, and nobody may read
// a second reply.
func answer[T any](to chan<- T, reply T) {
	select {
	case to <- reply:
	default:
	}
}

func (p *parent) serve(e *Engine) {
	p.engine, p.withdrawn = e, false
	if e.Gateway != nil {
		p.models[e.Model.Name] = e.Gateway
	}
	p.core.Set(report.Ready, e.Model)
}

func (p *parent) texts(hash string) []byte {
	if p.engine != nil && p.engine.Model.Texts == hash {
		return p.engine.Texts
	}
	return nil
}

// closed forgets a link that could not be opened.
func (p *parent) closed(slot messages.EngineID, key, cause string) {
	p.cluster.transport.Close(key)
	p.core.Unlinked(p.now(), slot, cause, &p.out)
}

// called answers another node.
func (p *parent) called(ctx actor.Context, m *called) {
	r := reply{err: p.core.Called(p.now(), m.hello, &p.out)}
	switch {
	case r.err != nil:
	case p.leaving != nil:
		r.err = errors.New(p.shuttingDown())
	case m.open != nil && (p.engine == nil || p.withdrawn):
		r.err = fmt.Errorf("node %s has no engine that accepts requests", p.cluster.opt.Self.Node)
	case m.open != nil && len(p.ends) >= mostLinks:
		r.err = fmt.Errorf("node %s has %d links; more are not allowed", p.cluster.opt.Self.Node, mostLinks)
	case m.open != nil:
		r.key = p.spawnGateway(ctx, m.hello, m.open.Key)
	}
	r.hello = p.core.Hello(p.now())
	answer(m.reply, r)
}

// mostLinks bounds the links of a node.
const mostLinks = 1024

// endLinks ends the links of an actor that has started over.
func (p *parent) endLinks(ctx actor.Context, dispatch *actor.PID) {
	who := "dispatch"
	if dispatch == nil {
		who = "the portal"
	}
	for name, e := range p.ends {
		if dispatch == nil && e.kind == playsGateway || e.model != nil && dispatch != nil && e.model.Dispatch.Id == dispatch.Id {
			ctx.Send(p.cluster.system.NewLocalPID(Name+"/"+name), &messages.EndLink{Cause: who + " of node " + p.cluster.opt.Self.Node + " has restarted"})
		}
	}
}

// leave ends all links with a goodbye, and tells all nodes that this one is not lost.
func (p *parent) leave(ctx actor.Context, m *leave) {
	p.leaving = m.done
	for _, address := range p.core.Leave() {
		p.lastHellos++
		go p.sayLeaving(address, p.core.Hello(p.now()))
	}
	for name := range p.ends {
		ctx.Send(p.cluster.system.NewLocalPID(Name+"/"+name), &messages.EndLink{Cause: p.shuttingDown()})
	}
	p.left()
}

func (p *parent) shuttingDown() string {
	return "node " + p.cluster.opt.Self.Node + " is shutting down"
}

// left lets the goodbyes arrive, once all links are over.
func (p *parent) left() {
	if p.leaving == nil || len(p.ends) > 0 || p.lastHellos > 0 || p.ctx.Err() != nil {
		return
	}
	p.cancel()
	done := p.leaving
	time.AfterFunc(100*time.Millisecond, func() { close(done) })
}

// carryOut does what the core has decided.
func (p *parent) carryOut() {
	hello := func() *wire.Hello { return p.core.Hello(p.now()) }
	for _, address := range p.out.Calls {
		go p.call(address, hello())
	}
	for _, name := range p.out.Forget {
		delete(p.models, name)
		go p.cluster.opt.Gateway.CloseModel(p.ctx, name)
	}
	for _, l := range p.out.Learn {
		go p.learn(l)
	}
	for _, l := range p.out.Links {
		go p.open(l, hello())
	}
	for _, e := range p.out.Events {
		line := p.cluster.opt.Log.Info()
		if e.Kind == report.EventRefused || e.Kind == report.EventUnreachable || e.Kind == report.EventLost {
			line = p.cluster.opt.Log.Warn()
		}
		if line.Str("event", e.Kind); e.Node != "" {
			line.Str("node", e.Node)
		}
		line.Msg(e.Text)
		if p.cluster.opt.Event != nil {
			p.cluster.opt.Event(e)
		}
	}
	p.out = members.Outbox{}
}

// call introduces this node to another one.
func (p *parent) call(address string, hello *wire.Hello) {
	ctx, cancel := context.WithTimeout(p.ctx, p.cluster.opt.Timeout)
	defer cancel()
	h, err := transport.CallOne[wire.Hello](ctx, p.cluster.transport, address, methodMeet, hello)
	p.send(&answered{address, h, err})
}

// sayLeaving sends the last hello. A node that does not answer soon takes this one for lost.
func (p *parent) sayLeaving(address string, hello *wire.Hello) {
	ctx, cancel := context.WithTimeout(p.ctx, mostLeaving)
	defer cancel()
	transport.CallOne[wire.Hello](ctx, p.cluster.transport, address, methodMeet, hello)
	p.send(&lastHelloDone{})
}

// mostLeaving bounds how long a frozen peer delays a shutdown.
const mostLeaving = 500 * time.Millisecond

// learn fetches the texts of a model and opens it.
func (p *parent) learn(l members.Learn) {
	model, err := p.learnFrom(l)
	p.send(&learned{l.Model, model, err})
}

func (p *parent) learnFrom(l members.Learn) (*GatewayModel, error) {
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	texts, err := p.fetch(ctx, l.Address, l.Model.Texts)
	if err != nil {
		return nil, err
	}
	return p.cluster.opt.Gateway.OpenModel(ctx, l.Model, texts)
}

// open opens a link to an engine.
func (p *parent) open(l members.Link, hello *wire.Hello) {
	ctx, cancel := context.WithTimeout(p.ctx, p.cluster.opt.Timeout)
	defer cancel()
	key := p.cluster.transport.Open(linkPID(p.cluster.system, playsEngine, l.Slot))
	answer, err := transport.CallOne[wire.LinkOpened](ctx, p.cluster.transport, l.Hello.Address, methodOpenLink, &wire.OpenLink{Hello: hello, Key: key})
	p.send(&opened{l, key, answer.GetKey(), err})
}

// HandleFailure implements actor.SupervisorStrategy: a link whose actor panics is over.
func (p *parent) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	p.cluster.opt.Roster.Entry(child.Id, messages.Link.String()).Failed(shell.Fault(reason), false)
	sup.StopChildren(child)
}
