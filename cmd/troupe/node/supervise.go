package node

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	supervision "github.com/troupe-engine/troupe/actors/node"
	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/members"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
)

// supervised is the process as operators see it. It implements Process of package
// actors/node.
type supervised struct {
	node        *Node
	actor       atomic.Pointer[supervision.Node] // once it has started
	roster      *roster.Roster
	name        string
	incarnation string
	state       atomic.Pointer[string]
	// service is held while the engine is taken out of service or put back, with the change of
	// state: operators, probation and the start may want both at once.
	service sync.Mutex
	held    bool                          // the engine was told to start no epoch; service guards it
	core    atomic.Pointer[engine.Engine] // once it has started
	restart chan struct{}                 // has a value when the process must execute itself anew
	probing atomic.Bool                   // it took itself out and looks whether it works again
	ended   chan struct{}                 // closed when the process closes
	closed  atomic.Bool                   // likewise
}

// startRoster makes what actors report to. It comes before all actors.
func (n *Node) startRoster() {
	s := &supervised{node: n, name: n.nodeName(), incarnation: newIncarnation(), restart: make(chan struct{}, 1), ended: make(chan struct{})}
	s.setState(report.Ready)
	s.roster = roster.New(s.failed)
	n.super = s
}

// startSupervision starts the actor that answers for the process.
func (n *Node) startSupervision() error {
	a, err := supervision.Start(n.System, supervision.Options{
		Process: n.super, Roster: n.super.roster, Chaos: n.Config().Chaos, Log: n.opt.Log,
	})
	if err != nil {
		return err
	}
	n.super.actor.Store(a)
	return nil
}

// clusterAPI answers operators for this process. It implements httpapi.Cluster.
type clusterAPI struct {
	*supervision.Node
	process *supervised
}

// State is that of the process.
func (d clusterAPI) State() string { return d.process.State() }

// clusterAPI returns it. Call it after Open.
func (s *supervised) clusterAPI() clusterAPI { return clusterAPI{s.actor.Load(), s} }

// answer answers another node.
func (s *supervised) answer(ctx context.Context, kind string, question []byte, write func([]byte) error) error {
	if a := s.actor.Load(); a != nil {
		return a.Answer(ctx, kind, question, write)
	}
	return errors.New("this node is starting; try again in a moment")
}

// nodeName is the name of this process, also outside of a cluster.
func (n *Node) nodeName() string {
	if k := &n.Config().Cluster; k.On() {
		return k.NodeName()
	}
	port := ""
	if at, err := url.Parse(n.opt.API); err == nil {
		port = at.Port()
	}
	return configs.DefaultNodeName(port)
}

// Abort implements Process of package actors/node.
func (s *supervised) Abort(a report.Abort) {
	for _, e := range s.node.fronts() {
		e.Send(&messages.AbortRequests{UserID: a.UserID, Owner: a.Owner, AnyOwner: a.AnyOwner, All: a.All})
	}
}

// failed is called for each failure of an actor.
func (s *supervised) failed(path, cause string, again bool) {
	if again || strings.HasPrefix(path, "cluster/") { // the end of an epoch is told otherwise
		s.record(report.Event{Kind: report.EventPanic, Actor: path, Text: "actor " + path + " failed and has restarted: " + cause})
	}
}

// record is Record, once there is an actor.
func (s *supervised) record(e report.Event) {
	if a := s.actor.Load(); a != nil {
		a.Record(e)
	}
}

// memberEvent records what this node sees of other nodes.
func (s *supervised) memberEvent(e members.Event) {
	event := report.Event{Kind: e.Kind, Node: e.Node, Text: e.Text}
	if e.Kind == report.EventRefused { // what this node does, for all nodes to know
		event.Node = ""
	}
	s.record(event)
}

// observe adds what operators need to the description of an engine.
func (s *supervised) observe(spec *engine.Spec) {
	spec.Roster, spec.Chaos = s.roster, s.node.Config().Chaos
	spec.OnNote = func(m messages.Note) {
		if m.Moved > 0 {
			s.record(report.Event{Kind: report.EventMoved, Actor: spec.Name, Text: m.Text, PauseMS: float64(m.Pause) / float64(time.Millisecond)})
		}
	}
	spec.OnNotice = func(path, text string) { s.record(report.Event{Kind: report.EventEpoch, Actor: path, Text: text}) }
}

// State is ready, draining, stopped or failed.
func (s *supervised) State() string { return *s.state.Load() }

func (s *supervised) setState(state string) { s.state.Store(&state) }

// Report implements node.Process.
func (s *supervised) Report() report.Node {
	n, c := s.node, s.node.Config()
	r := report.Node{Name: s.name, Role: "single", Incarnation: s.incarnation, PID: os.Getpid(), URL: n.opt.API, State: s.State()}
	if c.Cluster.On() {
		r.Role = c.Cluster.Role
	}
	if n.cluster != nil {
		for _, m := range n.cluster.all() {
			r.Running += int(m.meter.Value(messages.RequestsOpen))
		}
	}
	if e := s.core.Load(); e != nil {
		pool := n.pool()
		memory := n.Meter.Memory(pool)
		r.ModelHash = n.modelHash()
		r.Model, r.Fingerprint, r.Epoch = n.Name, n.shortFingerprint(), e.Epoch()
		r.KVTotal = pool.Pages * pool.PageSize
		if !e.Ready() { // nothing is computed, and no page is used
			return r
		}
		r.Running, r.Waiting = int(n.Meter.Value(messages.RequestsRunning)), int(n.Meter.Value(messages.RequestsWaiting))
		r.KVUsed = int(memory.Used / max(memory.BytesPerToken, 1))
	}
	return r
}

// Peers implements node.Peers.
func (g *clustered) Peers(ctx context.Context) ([]supervision.Peer, error) {
	nodes, err := g.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	self := g.node.super.name
	var list []supervision.Peer
	for _, m := range nodes {
		h := m.Hello
		if h.Node == self || h.Cluster != g.node.Config().Cluster.Name || h.Protocol != members.Protocol {
			continue // refused, as an event has said
		}
		role := map[[2]bool]string{{true, false}: "gateway", {true, true}: "both"}[[2]bool{h.Gateway, h.Engine != nil}]
		if role == "" {
			role = "engine"
		}
		list = append(list, supervision.Peer{Address: h.Address, Lost: m.Lost, Node: report.Node{
			Unused: m.Refused, Name: h.Node, Role: role, Incarnation: h.Incarnation, PID: int(h.Pid), URL: h.Api, State: h.State, Model: h.Engine.GetName(),
		}})
	}
	return list, nil
}

// close ends what the process does for operators.
func (s *supervised) close(ctx context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	close(s.ended)
	if a := s.actor.Load(); a != nil {
		return a.Stop(ctx)
	}
	return nil
}
