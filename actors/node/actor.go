package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/report"
)

// Messages to the actor, of this package only.
type (
	record struct{ event report.Event }
	// reader waits for events after a number. With bounds it asks for the number before the
	// oldest event that is kept, and the newest one.
	reader struct {
		after  uint64
		bounds bool
		reply  chan []report.Event // one answer; nil is a refusal
	}
	leave struct{ reader *reader }
	// begin asks whether an action may run; the reply is nil or why not.
	begin struct {
		action *report.Action
		reply  chan *report.Error
	}
	end  struct{ action *report.Action }
	look struct{ _ byte } // for nodes to follow; not empty, so that each one has an address of its own
	// met are the nodes that there are.
	met struct{ peers []Peer }
	// followed is how far the events of a process have been read.
	followed struct {
		incarnation string
		number      uint64
	}
)

const (
	// mostReaders are a node for each address that a node may know, and 256 operators.
	mostReaders = 1024 + 256
	mostEvents  = 256 // in one answer
	lookEvery   = 500 * time.Millisecond
)

func newReader(after uint64) *reader {
	return &reader{after: after, reply: make(chan []report.Event, 1)}
}

// state is the actor. It survives a panic.
type state struct {
	node    *Node
	entry   *roster.Entry
	log     *eventLog
	readers map[*reader]struct{}
	running map[*report.Action]struct{}
	follows map[string]*follower // by incarnation
	ctx     context.Context      // ends with the actor
	cancel  context.CancelFunc
}

func newState(n *Node, entry *roster.Entry) *state {
	s := &state{node: n, entry: entry, log: newEventLog(n.opt.Now()), readers: map[*reader]struct{}{}, running: map[*report.Action]struct{}{}, follows: map[string]*follower{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *state) Receive(ctx actor.Context) {
	s.entry.Trip()
	switch m := ctx.Message().(type) {
	case *actor.Stopping:
		s.cancel()
		s.entry.Stopped()
	case *record:
		s.node.pending.Add(-1)
		s.add(m.event)
	case *reader:
		s.read(m)
	case *leave:
		delete(s.readers, m.reader)
	case *begin:
		answer(m.reply, s.begin(m.action))
	case *end:
		delete(s.running, m.action)
	case *look:
		s.look()
	case *met:
		s.follow(m.peers)
	case *followed:
		if f := s.follows[m.incarnation]; f != nil {
			f.after = m.number
		}
	}
}

// answer replies to a message. After a panic the actor handles it again, and nobody may read
// a second reply.
func answer[T any](to chan<- T, reply T) {
	select {
	case to <- reply:
	default:
	}
}

// add records an event, and before it how many were dropped.
func (s *state) add(e report.Event) {
	if n := s.node.dropped.Swap(0); n > 0 {
		s.append(report.Event{At: e.At, Node: s.node.name, Kind: report.EventGap, Text: fmt.Sprintf("%d events came too fast and were not recorded", n)})
	}
	s.append(e)
}

func (s *state) append(e report.Event) {
	e = s.log.add(e)
	if e.Node == s.node.name && (e.Kind == report.EventAction || e.Kind == report.EventState) { // the others are logged where they happen
		line := s.node.opt.Log.Info().Str("event", e.Kind)
		if e.Actor != "" {
			line = line.Str("actor", e.Actor)
		}
		if e.Operator != "" {
			line = line.Str("operator", e.Operator)
		}
		line.Msg(e.Text)
	}
	for r := range s.readers {
		s.read(r)
	}
}

// read answers a reader now, or when there is an event.
func (s *state) read(r *reader) {
	delete(s.readers, r)
	if r.bounds {
		answer(r.reply, []report.Event{{Number: s.log.oldest()}, {Number: s.log.last}})
		return
	}
	if events := s.log.after(r.after, mostEvents, s.node.opt.Now()); len(events) > 0 {
		answer(r.reply, events)
	} else if len(s.readers) >= mostReaders {
		answer(r.reply, nil)
	} else {
		s.readers[r] = struct{}{}
	}
}

// begin lets one action at a time act on a target, or on what it contains.
func (s *state) begin(a *report.Action) *report.Error {
	for other := range s.running {
		if within(a.Target, other.Target) || within(other.Target, a.Target) {
			return &report.Error{Kind: report.InProgress, Text: fmt.Sprintf("%s of %s is in progress, asked for by %s (%s); wait until it is done", other.Action, other.Target, other.Operator, other.Reason)}
		}
	}
	s.running[a] = struct{}{}
	return nil
}

func within(target, other string) bool {
	return target == other || strings.HasPrefix(target, other+"/")
}
