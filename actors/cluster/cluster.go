// Package cluster connects this process with the other nodes of its cluster. Its actor
// runs package members, and is the parent of this node's ends of links.
//
//	cluster           the parent: calls nodes, opens links
//	├── engine-N      the gateway's end of a link: plays engine N to dispatch
//	└── gateway-N     the engine's end of a link: plays gateway N to the portal
//
// # Parts
//
//	cluster          starting and stopping; what a node brings along
//	parent           the actor, and the effects of package members
//	link             the actors of ends of links
//	calls            what other nodes ask: who is there, a link, texts of a model, reports
//	supervise        what operators ask
//
// Package transport, in a folder below, carries frames and calls; package discovery finds peers.
package cluster

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/members"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// Name is that of the parent.
const Name = "cluster"

// Options of a Cluster.
type Options struct {
	Self      *wire.Hello       // what this node says of itself; Address and Known are set here
	Timeout   time.Duration     // cluster-peer-timeout; 0 means 2s
	Resume    time.Duration     // cluster-resume-wait
	Own       string            // served name of the engine that Serve will bring; "" for none
	Transport transport.Options // its Calls is set here
	// Gateway opens models that engines serve; nil for a node without a gateway.
	Gateway Gateway
	// Engine is that of this node; nil if it has none.
	Engine *Engine
	Meter  messages.Meter
	Log    zerolog.Logger
	// Event is called for each event that operators see; it must not block. nil: not called.
	Event func(members.Event)
	// Answer answers another node's question about this one, as node.Answer does.
	Answer func(ctx context.Context, kind string, question []byte, write func([]byte) error) error
	Roster *roster.Roster // counts what the actors do; nil: nothing is counted
	Chaos  bool           // as in package engine
	// Intercept is for tests, as in package engine.
	Intercept func(role messages.Actor, msg any)
	Clock     func() time.Duration // time since some fixed point; nil: the real one
}

// Gateway is the wiring of a node's gateway.
type Gateway interface {
	// OpenModel makes a model ready for requests, in place of one of the same name. texts
	// are those of the model's hash.
	OpenModel(ctx context.Context, m *wire.Model, texts []byte) (*GatewayModel, error)
	// CloseModel ends a model that has no engine any more.
	CloseModel(ctx context.Context, name string)
	// Busy reports whether requests for a model are open. It does not block.
	Busy(name string) bool
}

// GatewayModel is a model that this gateway serves: its dispatch, and how many engines of other nodes have it.
type GatewayModel struct {
	Dispatch *actor.PID
	Limits   wire.Limits
	up       atomic.Int32
}

// Up is how many engines of other nodes accept the model's requests.
func (m *GatewayModel) Up() int { return int(m.up.Load()) }

// Engine is this node's engine.
type Engine struct {
	Portal  *actor.PID
	Model   *wire.Model
	Texts   []byte // whose hash is in Model; frozen
	Limits  wire.Limits
	Gateway *GatewayModel // of its model in this node; nil if the node has no gateway
}

// Cluster is the running part. Safe for concurrent use.
type Cluster struct {
	opt       Options
	system    *actor.ActorSystem
	transport *transport.Transport
	pid       *actor.PID
	up        chan struct{} // closed when the fields and the parent are there
}

// Start listens and begins to answer other nodes. Nodes are met once they are proposed.
func Start(system *actor.ActorSystem, opt Options) (*Cluster, error) {
	if opt.Clock == nil {
		start := time.Now()
		opt.Clock = func() time.Duration { return time.Since(start) }
	}
	opt.Timeout = cmp.Or(opt.Timeout, 2*time.Second)
	c := &Cluster{opt: opt, system: system, up: make(chan struct{})}
	opt.Transport.Calls = callServer{c}
	var err error
	if c.transport, err = transport.Start(system, opt.Transport); err != nil {
		return nil, err
	}
	opt.Self.Address = c.transport.Advertised()
	c.pid = system.NewLocalPID(Name)
	known := members.Options{Self: opt.Self, Timeout: opt.Timeout, Own: opt.Own, Resume: opt.Resume}
	if opt.Gateway != nil {
		known.Busy = opt.Gateway.Busy
	}
	core := members.New(known)
	entry := opt.Roster.Entry(Name, Name)
	p := newParent(c, core, entry)
	props := actor.PropsFromProducer(func() actor.Actor { return p }, append(entry.Options(), entry.Guard())...)
	if _, err := system.Root.SpawnNamed(props, Name); err != nil {
		c.transport.Stop()
		return nil, err
	}
	close(c.up)
	return c, nil
}

// Stop ends the links of this node, with a goodbye, and closes the port.
func (c *Cluster) Stop(ctx context.Context) error {
	done := make(chan struct{})
	c.system.Root.Send(c.pid, &leave{done})
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.transport.Stop()
	return err
}

// Address is where other nodes reach this one.
func (c *Cluster) Address() string { return c.transport.Advertised() }

// Propose says where nodes may be. It replaces the last proposal.
func (c *Cluster) Propose(addresses []string) {
	c.system.Root.Send(c.pid, &proposed{addresses})
}

// Serve offers the engine to gateways, from now on.
func (c *Cluster) Serve(e *Engine) { c.system.Root.Send(c.pid, &serve{e}) }

// Restart ends the links of a model's dispatch, or with nil those of the portal, which has
// started over; new ones begin.
func (c *Cluster) Restart(dispatch *actor.PID) { c.system.Root.Send(c.pid, &restarted{dispatch}) }

// EngineLink is the actor that plays the engine of a slot for dispatch, GatewayLink the
// one that plays a gateway for the portal.
func (c *Cluster) EngineLink(slot messages.EngineID) *actor.PID {
	return linkPID(c.system, playsEngine, slot)
}
func (c *Cluster) GatewayLink(slot messages.EngineID) *actor.PID {
	return linkPID(c.system, playsGateway, slot)
}

// Nodes asks for the other nodes that this one has met.
func (c *Cluster) Nodes(ctx context.Context) ([]members.Node, error) {
	reply := make(chan []members.Node, 1)
	c.system.Root.Send(c.pid, &list{reply})
	select {
	case nodes := <-reply:
		return nodes, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
