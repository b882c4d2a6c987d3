// Package node is the actor that answers for a process: what it does, what has happened,
// and what operators ask it to do. Every process has one, outside of a cluster too.
//
//	node     the log of events; which actions run
//
// Questions about other nodes go to them. Each node follows the events of all others, so
// that any node has those of the whole cluster.
//
// # Parts
//
//	node       the public part
//	actor      the actor, its messages and its supervision
//	eventlog   the numbered events that are kept
//	questions  what this node and others say of themselves
//	actions    what operators ask for
//	elsewhere  what they ask of another node
//	follow     events of other nodes
//	answer     questions of other nodes
package node

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/report"
)

// Name is that of the actor.
const Name = "node"

// Options of a Node.
type Options struct {
	Process Process
	Roster  *roster.Roster
	Chaos   bool // allows the action crash
	Log     zerolog.Logger
	Now     func() time.Time // nil: the real one
	// Answer is how long another node has for a question; 0 means 1s.
	Answer time.Duration
	// Settle is how long an action waits for its result; 0 means 5s.
	Settle time.Duration
}

// Process is what the actor answers for. Its methods are called on any goroutine.
type Process interface {
	// Report describes the process. LastFailure and Restarts are filled in by the caller.
	Report() report.Node
	// Act carries out an action on this process, or on one of its actors if path is not
	// "", and says in a sentence what it came to. Errors may be *report.Error.
	Act(ctx context.Context, a *report.Action, path string) (string, error)
	// Abort ends requests of this node's gateway.
	Abort(a report.Abort)
	// Nudge sends an actor a message that changes nothing.
	Nudge(path string)
}

// Peers reaches the other nodes of a cluster.
type Peers interface {
	Peers(ctx context.Context) ([]Peer, error)
	// Ask puts a question to the node at an address. each is called with each answer.
	Ask(ctx context.Context, address, kind string, question []byte, each func([]byte) error) error
}

// Peer is another node, as this one knows it.
type Peer struct {
	Address string
	Lost    bool
	Node    report.Node // from its last hello
}

// Node is the running actor. Safe for concurrent use.
type Node struct {
	opt     Options
	name    string
	system  *actor.ActorSystem
	pid     *actor.PID
	peers   atomic.Pointer[Peers] // nil outside of a cluster
	pending atomic.Int64          // events that the actor has not recorded yet
	dropped atomic.Uint64         // events that were too many
	started time.Time
	leaving atomic.Bool // an action takes the node out of service now
}

// Start spawns the actor. The name of the process does not change.
func Start(system *actor.ActorSystem, opt Options) (*Node, error) {
	opt.Answer, opt.Settle = cmp.Or(opt.Answer, time.Second), cmp.Or(opt.Settle, 5*time.Second)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	n := &Node{opt: opt, started: opt.Now(), name: opt.Process.Report().Name, system: system, pid: system.NewLocalPID(Name)}
	entry := opt.Roster.Entry(Name, Name)
	s := newState(n, entry)
	props := actor.PropsFromProducer(func() actor.Actor { return s }, append(entry.Options(), entry.Guard())...)
	if _, err := system.Root.SpawnNamed(props, Name); err != nil {
		return nil, err
	}
	return n, nil
}

// Join has the node ask and follow other nodes from now on.
func (n *Node) Join(p Peers) {
	n.peers.Store(&p)
	n.system.Root.Send(n.pid, &look{})
}

// Stop ends the actor and what it has begun.
func (n *Node) Stop(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- n.system.Root.StopFuture(n.pid).Wait() }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mostPending bounds the events that wait for the actor. More are dropped, and a gap
// event says how many.
const mostPending = 1024

// Record appends an event. Node, At and Number are set if they are zero. It does not block.
func (n *Node) Record(e report.Event) {
	if n.pending.Add(1) > mostPending {
		n.pending.Add(-1)
		n.dropped.Add(1)
		return
	}
	e.Node = cmp.Or(e.Node, n.name)
	if e.At.IsZero() {
		e.At = n.opt.Now()
	}
	e.Text = clip(e.Text, mostText)
	for _, name := range []*string{&e.Node, &e.Kind, &e.Actor, &e.Operator} {
		*name = clip(*name, mostName)
	}
	n.system.Root.Send(n.pid, &record{e})
}

// The bounds of an event, in bytes: of its text, of each name in it, and of all of it as
// JSON, where a byte may take six. It is kept, and may come from another node.
const (
	mostText  = 2000
	mostName  = 1024
	mostEvent = 64 << 10
)

func clip(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Last is the number of the newest event.
func (n *Node) Last(ctx context.Context) (uint64, error) {
	_, last, err := n.bounds(ctx)
	return last, err
}

// bounds are the number before the oldest event that is kept, and the newest number.
func (n *Node) bounds(ctx context.Context) (oldest, last uint64, err error) {
	w := newReader(0)
	w.bounds = true
	events, err := n.read(ctx, w)
	if err != nil {
		return 0, 0, err
	}
	return events[0].Number, events[1].Number, nil
}

// Events waits for events after a number and returns them, the oldest first; 0 asks for
// all that are kept. Of missing events the first one tells: its kind is gap, and its
// number that of the last missing one.
func (n *Node) Events(ctx context.Context, after uint64) ([]report.Event, error) {
	return n.read(ctx, newReader(after))
}

func (n *Node) read(ctx context.Context, w *reader) ([]report.Event, error) {
	n.system.Root.Send(n.pid, w)
	select {
	case events := <-w.reply:
		if events == nil {
			return nil, &report.Error{Kind: report.Refused, Text: fmt.Sprintf("%d readers wait for events; more are not allowed", mostReaders)}
		}
		return events, nil
	case <-ctx.Done():
		n.system.Root.Send(n.pid, &leave{w})
		return nil, ctx.Err()
	}
}
