package node

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/troupe-engine/troupe/cluster/report"
)

// The kinds of questions between nodes. Questions and answers are JSON.
const (
	askNode   = "node"   // a report.Node
	askActors = "actors" // a list of report.Actor
	askTicket = "ticket" // a ticket, for act
	askAct    = "act"    // a timely action; the answer is a result
	askAbort  = "abort"  // a report.Abort; the answer is true
	askEvents = "events" // a following; answers come until the end
)

// following asks for the events of a process. Another one at the same address refuses.
type following struct {
	Incarnation string `json:"incarnation"`
	After       uint64 `json:"after"` // the number of the last event that is known
}

// result is the answer of an action.
type result struct {
	Outcome *report.Outcome `json:"outcome,omitempty"`
	Error   *report.Error   `json:"error,omitempty"`
}

// replayed is how many events a node that is new hears of another one.
const replayed = 256

// Answer answers a question of another node.
func (n *Node) Answer(ctx context.Context, kind string, question []byte, write func([]byte) error) error {
	say := func(v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return write(b)
	}
	switch kind {
	case askNode:
		return say(n.self())
	case askActors:
		return say(n.actors())
	case askAct:
		var o timely
		if err := json.Unmarshal(question, &o); err != nil {
			return fmt.Errorf("the action cannot be read: %w", err)
		}
		return say(n.obey(ctx, &o))
	case askTicket:
		return say(n.ticket())
	case askAbort:
		var a report.Abort
		if err := json.Unmarshal(question, &a); err != nil {
			return fmt.Errorf("the abort cannot be read: %w", err)
		}
		n.opt.Process.Abort(a)
		return say(true)
	case askEvents:
		var f following
		if err := json.Unmarshal(question, &f); err != nil {
			return fmt.Errorf("the number of an event cannot be read: %w", err)
		}
		if own := n.opt.Process.Report().Incarnation; f.Incarnation != own {
			return fmt.Errorf("the process %.100q has ended; here is %s", f.Incarnation, own)
		}
		return n.tell(ctx, f.After, func(e *report.Event) error { return say(e) })
	}
	return fmt.Errorf("unknown question %.100q; run the same version of troupe on all nodes", kind)
}

// tell sends this node's own events until the other node does not read any more.
func (n *Node) tell(ctx context.Context, after uint64, send func(*report.Event) error) error {
	if after == 0 {
		oldest, last, err := n.bounds(ctx)
		if err != nil {
			return err
		}
		after = max(oldest, last-min(last, replayed))
	}
	for {
		events, err := n.Events(ctx, after)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			after = e.Number
			if e.Kind == report.EventGap && e.Node == "" {
				e.Node = n.name
			}
			if e.Node == n.name && (passedOn(e.Kind) || e.Kind == report.EventGap) {
				if err := send(e); err != nil {
					return err
				}
			}
		}
	}
}
