package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

// passed are the kinds of events that a node tells others. Who joins and leaves is each
// node's own view.
var passed = []string{report.EventEpoch, report.EventPanic, report.EventMoved, report.EventAction, report.EventState, report.EventRefused}

func passedOn(kind string) bool { return slices.Contains(passed, kind) }

// follower reads the events of another process.
type follower struct {
	after  uint64 // the number of the last one there; 0: none yet
	cancel context.CancelFunc
}

// look asks for the nodes that there are, again and again.
func (s *state) look() {
	peers := s.node.peers.Load()
	root, pid := s.node.system.Root, s.node.pid
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, s.node.opt.Answer)
		defer cancel()
		if list, err := (*peers).Peers(ctx); err == nil {
			root.Send(pid, &met{list})
		}
	}()
	time.AfterFunc(lookEvery, func() {
		if s.ctx.Err() == nil {
			root.Send(pid, &look{})
		}
	})
}

// follow follows the nodes that are there, and no others.
func (s *state) follow(peers []Peer) {
	known := map[string]bool{}
	for _, p := range peers {
		id := p.Node.Incarnation
		known[id] = true
		f := s.follows[id]
		if f == nil {
			f = &follower{}
			s.follows[id] = f
		}
		switch {
		case p.Lost && f.cancel != nil:
			f.cancel()
			f.cancel = nil
		case !p.Lost && f.cancel == nil:
			var ctx context.Context
			ctx, f.cancel = context.WithCancel(s.ctx)
			go s.node.follow(ctx, p, f.after)
		}
	}
	for id, f := range s.follows {
		if !known[id] {
			if f.cancel != nil {
				f.cancel()
			}
			delete(s.follows, id)
		}
	}
}

// follow reads a node's events until ctx ends.
func (n *Node) follow(ctx context.Context, p Peer, after uint64) {
	for pause := 100 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 2*time.Second) {
		question, _ := json.Marshal(following{p.Node.Incarnation, after}) // text and a number
		_ = (*n.peers.Load()).Ask(ctx, p.Address, askEvents, question, func(answer []byte) error {
			if len(answer) > mostEvent {
				return fmt.Errorf("node %s sent an event of %d bytes; at most %d are allowed", p.Node.Name, len(answer), mostEvent)
			}
			var e report.Event
			if err := json.Unmarshal(answer, &e); err != nil {
				return err
			}
			if e.Node != p.Node.Name || !passedOn(e.Kind) && e.Kind != report.EventGap {
				return fmt.Errorf("node %s sent an event of %.100q", p.Node.Name, e.Node)
			}
			after, pause = e.Number, 100*time.Millisecond
			e.Number = 0
			n.Record(e)
			n.system.Root.Send(n.pid, &followed{p.Node.Incarnation, after})
			return nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
