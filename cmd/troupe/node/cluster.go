package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/cluster"
	"github.com/troupe-engine/troupe/actors/cluster/discovery"
	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cluster/members"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/route"
	"github.com/troupe-engine/troupe/telemetry"
)

// clustered is what a node of a cluster has besides its engine: the links to other nodes,
// and the models that its gateway serves. An engine without a gateway for clients has one
// for itself, for questions and probes.
type clustered struct {
	*cluster.Cluster
	node    *Node
	catalog httpapi.Models
	mu      sync.Mutex      // models are opened on goroutines of their own
	models  []*gatewayModel // of the models
	opening sync.Mutex      // a model is opened or closed: one at a time

	stopLooking func() // at certificates; nil without
	incarnation string
	discovery   *discovery.Discovery // nil before join
	offer       *cluster.Engine      // this node's engine, once its weights are hashed; supervised.service guards it
}

// gatewayModel is a model of this gateway: its intake and dispatch.
type gatewayModel struct {
	*engine.Engine
	*cluster.GatewayModel
	name   string
	own    *engine.Engine // this node's engine, behind its portal; nil if it serves another model, or none
	meter  *telemetry.Meter
	texts  string // the hash
	served *httpapi.Served
	// unlinked: this node's engine is not in service yet, or an operator has taken it out.
	unlinked atomic.Bool
}

// Ready reports whether an engine accepts the model's requests.
func (gm *gatewayModel) Ready() bool {
	return gm.own != nil && gm.own.Ready() && !gm.unlinked.Load() || gm.GatewayModel.Up() > 0
}

// startCluster opens the port for other nodes. It comes before all actors, because it
// gives the actor system its address.
func (n *Node) startCluster() error {
	c := n.Config()
	k := &c.Cluster
	incarnation := n.super.incarnation
	opt := cluster.Options{
		Self: &wire.Hello{
			Protocol: members.Protocol, Cluster: k.Name, Node: k.NodeName(), Incarnation: incarnation, Gateway: k.HasGateway(),
			Api: n.opt.API, State: report.Ready, Pid: int64(os.Getpid()), Started: n.started.UnixMilli(), Version: n.opt.Version,
		},
		Timeout: k.PeerTimeout, Resume: k.ResumeWait, Own: n.Name,
		Transport: transport.Options{Listen: k.Listen, Advertise: k.Advertise, Incarnation: incarnation,
			Log: n.opt.Log},
		Meter: n.Meter, Log: n.opt.Log, Roster: n.super.roster, Chaos: c.Chaos, Event: n.super.memberEvent, Answer: n.super.answer,
	}
	n.cluster = &clustered{node: n, incarnation: incarnation}
	if k.Secure() {
		if err := n.cluster.identify(&opt.Transport); err != nil {
			return err
		}
	}
	if k.HasGateway() {
		opt.Gateway = n.cluster
	}
	var err error
	if n.cluster.Cluster, err = cluster.Start(n.System, opt); err != nil {
		return aboutListen(err)
	}
	return nil
}

// newIncarnation names a process.
func newIncarnation() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// join begins to look for other nodes.
func (g *clustered) join() (err error) {
	k := &g.node.Config().Cluster
	g.discovery, err = discovery.Start(discovery.Options{
		Cluster: k.Name, Incarnation: g.incarnation, Address: g.Address(), Join: k.Join, Log: g.node.opt.Log,
	}, g.Propose)
	return configs.About(err, "cluster-join")
}

// openOwn starts the actors of this node's engine, and of its model at the gateway. serveOwn
// links the two.
func (g *clustered) openOwn(spec engine.Spec) error {
	n := g.node
	gm := &gatewayModel{name: n.Name, meter: n.Meter}
	front := g.frontSpec(gm, n.tableOptions(), n.Config().PageSize)
	gm.unlinked.Store(true)
	front.Observer, front.Intercept, front.Props = spec.Observer, spec.Intercept, spec.Props
	spec.Name, spec.Portal, spec.Observer, spec.Intake = "engine", true, nil, intake.Options{}
	spec.Cache.Events = true           // routers follow the cache
	spec.Batch.ReportAdmissions = true // to suspect the right requests if this process dies
	spec.Peers = g.peers(g.GatewayLink, func() *engine.Engine { return gm.Engine }, (*engine.Engine).Dispatch)
	spec.OnRestart = func() {
		g.Restart(nil)
		g.relink(gm)
	}
	var err error
	if gm.own, err = engine.Start(n.System, spec); err != nil {
		return err
	}
	n.core = gm.own
	m, p := n.model(), n.Checkpoint.Program
	if n.Config().Cluster.HasGateway() {
		m.Context = p.Context // other engines may have a larger pool
	}
	if err := g.add(gm, front, m, wireLimits(p.Context, p.Vocab)); err != nil {
		return err
	}
	n.Engine = gm.Engine
	return nil
}

// relink begins the link between this node's dispatch and its portal anew.
func (g *clustered) relink(gm *gatewayModel) {
	if gm.unlinked.Load() {
		return
	}
	root := g.node.System.Root
	root.Send(gm.own.Portal(), &messages.GatewayLeft{})
	root.Send(gm.Engine.Dispatch(), &messages.EngineLeft{Cause: "dispatch or the portal has restarted", NoSuspects: true})
	root.Send(gm.Engine.Dispatch(), &messages.EngineJoined{Facts: messages.EngineFacts{Fingerprint: g.node.Fingerprint(), PoolTokens: g.node.Plan.Tokens}})
	root.Send(gm.own.Portal(), &messages.GatewayJoined{})
}

// peers finds the other end of a slot; slot 0 is in this process.
func (g *clustered) peers(link func(messages.EngineID) *actor.PID, inner func() *engine.Engine, of func(*engine.Engine) *actor.PID) func(messages.EngineID) *actor.PID {
	return func(slot messages.EngineID) *actor.PID {
		if slot != 0 {
			return link(slot)
		}
		if e := inner(); e != nil {
			return of(e)
		}
		return nil
	}
}

// frontSpec describes intake and dispatch of a model.
func (g *clustered) frontSpec(gm *gatewayModel, table request.TableOptions, pageSize int) engine.Spec {
	n, c := g.node, g.node.Config()
	table.PoolTokens = table.ContextLength // a request is cut to the context, never to one engine's pool
	spec := engine.Spec{
		Name:     "gateway-" + gm.name,
		Intake:   intake.Options{Table: request.NewTable(table)},
		Dispatch: dispatch.Options{Route: route.Options{Policy: c.LoadBalance, Seed: newSeed()}, ResumeWait: c.Cluster.ResumeWait},
		Cache:    radix.Options{PageSize: pageSize, Disabled: c.DisableRadixCache},
		Meter:    gm.meter, Log: n.opt.Log.With().Str("model", gm.name).Logger(), OnFatal: n.Fail,
	}
	n.super.observe(&spec)
	spec.Peers = g.peers(g.EngineLink, func() *engine.Engine { return gm.own }, (*engine.Engine).Portal)
	spec.OnRestart = func() {
		g.Restart(gm.Engine.Dispatch())
		if gm.own != nil {
			g.relink(gm)
		}
	}
	return spec
}

// add starts a model's intake and dispatch, and puts it into the catalogue. The limits are
// those of its engines: their vocabulary may be larger than the tokenizer's.
func (g *clustered) add(gm *gatewayModel, spec engine.Spec, m httpapi.Model, limits wire.Limits) error {
	n := g.node
	spec.Intake.Detokenizer = intake.Text(m.Tokenizer)
	var err error
	if gm.Engine, err = engine.Start(n.System, spec); err != nil {
		return err
	}
	n.System.Root.Send(gm.Engine.Dispatch(), &messages.ResumeDue{}) // from now on requests wait, for a limited time
	gm.GatewayModel = &cluster.GatewayModel{Dispatch: gm.Engine.Dispatch(), Limits: limits}
	gm.served = &httpapi.Served{Model: m, Engine: gm, Steps: func() float64 { return gm.meter.Value(messages.GenerationTokens) }, Readings: readings(gm.meter)}
	if spec.Observer != nil {
		gm.served.Observe = gm.Engine.Observe
	}
	g.list(gm.name, gm)
	return nil
}

// list puts models into the catalogue, in the place of one of that name.
func (g *clustered) list(name string, models ...*gatewayModel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.models = append(slices.DeleteFunc(g.models, func(old *gatewayModel) bool { return old.name == name }), models...)
	served := make([]*httpapi.Served, len(g.models))
	for i, one := range g.models {
		served[i] = one.served
	}
	g.catalog.Set(served...)
}

func (g *clustered) all() []*gatewayModel {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.models)
}

// serveOwn offers the engine to all gateways, once its weights are hashed. This node's own
// is among them: a request keeps the fingerprint of its first engine, so it must be the
// final one. Its dispatch is linked with the portal without frames.
func (g *clustered) serveOwn() error {
	n := g.node
	texts, hash, err := n.Texts()
	if err != nil {
		return err
	}
	p := n.Checkpoint.Program
	offer := &cluster.Engine{
		Portal: n.core.Portal(), Texts: texts, Limits: n.requestLimits(),
		Gateway: g.own().GatewayModel,
		Model: &wire.Model{
			Name: n.Name, Weights: *n.hash.Load(), Texts: hash, Fingerprint: n.Fingerprint(), Context: int64(p.Context), Vocab: int64(p.Vocab),
			PoolTokens: int64(n.Plan.Tokens), PageSize: int64(n.Config().PageSize), Running: int64(n.Plan.MaxRunning * len(n.Models)),
		},
	}
	n.setModelHash(offer.Model)
	n.super.service.Lock()
	defer n.super.service.Unlock()
	g.offer = offer
	if n.super.State() == report.Ready { // an operator may have drained it already
		g.offerAgain()
	}
	return nil
}

// unlink takes this node's engine from its gateway for clients, if it has one. A gateway
// that is only for questions keeps it.
func (g *clustered) unlink(cause string) {
	if gm := g.own(); gm != nil && g.node.Config().Cluster.HasGateway() {
		gm.unlinked.Store(true)
		g.node.System.Root.Send(gm.Engine.Dispatch(), &messages.EngineLeft{Cause: cause, NoSuspects: true})
		g.node.System.Root.Send(gm.own.Portal(), &messages.GatewayLeft{})
	}
}

// offerAgain serves the engine to gateways again, after Withdraw, or for the first time.
func (g *clustered) offerAgain() {
	if gm := g.own(); gm != nil && g.offer != nil {
		gm.unlinked.Store(false)
		g.relink(gm)
		g.Serve(g.offer)
	}
}

// own is the model of this node's engine, nil if it has none.
func (g *clustered) own() *gatewayModel {
	for _, gm := range g.all() {
		if gm.own != nil {
			return gm
		}
	}
	return nil
}

// requestLimits bound the requests that gateways send to this node's engine.
func (n *Node) requestLimits() wire.Limits {
	p := n.Checkpoint.Program
	return wireLimits(min(p.Context, n.Plan.Tokens), p.Vocab)
}

func wireLimits(context, vocab int) wire.Limits {
	return wire.Limits{Vocab: vocab, Context: context, Logprobs: maxTopLogprobs}
}

// gatewayURL is where clients can send requests: a gateway that this node has met.
func (g *clustered) gatewayURL() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	nodes, err := g.Nodes(ctx)
	if err != nil {
		return ""
	}
	for _, m := range nodes {
		if m.Hello.Gateway && !m.Lost && m.Hello.Api != "" {
			return m.Hello.Api
		}
	}
	return ""
}

// APIURL is where the API is for other machines.
func APIURL(c *configs.Config, l *Listeners) string {
	scheme := "http"
	if c.HTTP.TLSCert != "" {
		scheme = "https"
	}
	host := c.HTTP.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || host == "" {
		at := c.Cluster.Advertise
		if at == "" {
			at = c.Cluster.Listen
		}
		host, _, _ = net.SplitHostPort(at) // it was checked
	}
	_, port, _ := net.SplitHostPort(l.API.Addr().String()) // of a listener
	return (&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}).String()
}

// info is this node's part of /server_info.
func (g *clustered) info() map[string]any {
	k := g.node.Config().Cluster
	models := map[string]any{}
	for _, gm := range g.all() {
		models[gm.name] = map[string]any{"ready": gm.Ready(), "engines": gm.GatewayModel.Up(), "metrics": gm.meter.Values()}
	}
	return map[string]any{"name": k.Name, "node": k.NodeName(), "role": k.Role, "address": g.Address(), "models": models}
}

// ClusterAddress is where other nodes reach this one; "" outside of a cluster.
func (n *Node) ClusterAddress() string {
	if n.cluster == nil {
		return ""
	}
	return n.cluster.Address()
}
