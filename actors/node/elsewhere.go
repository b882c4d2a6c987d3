package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

// ticket shows that a node has answered just now. Without it a node that was frozen would
// carry out what an operator asked for long before.
type ticket struct {
	Incarnation string        `json:"incarnation"`
	At          time.Duration `json:"at"` // by the node's own clock
}

// ticketLife is how long a ticket is good.
const ticketLife = 5 * time.Second

// timely is an action for another node.
type timely struct {
	Ticket ticket         `json:"ticket"`
	Action *report.Action `json:"action"`
}

func (n *Node) ticket() ticket {
	return ticket{n.opt.Process.Report().Incarnation, n.opt.Now().Sub(n.started)}
}

// obey carries out the order of another node, if it is not too old.
func (n *Node) obey(ctx context.Context, o *timely) result {
	if now := n.ticket(); o.Action == nil || o.Ticket.Incarnation != now.Incarnation || o.Ticket.At > now.At || now.At-o.Ticket.At > ticketLife {
		return result{Error: &report.Error{Kind: report.Unreachable, Text: fmt.Sprintf("node %s got the action too late, and has not carried it out; try again", n.name)}}
	}
	return n.here(ctx, o.Action)
}

// elsewhere has another node carry out an action.
func (n *Node) elsewhere(ctx context.Context, p *Peer, a *report.Action) (r result, err error) {
	short, cancel := context.WithTimeout(ctx, n.opt.Answer)
	defer cancel()
	o := timely{Action: a}
	if o.Ticket, err = askOne[ticket](short, n, *p, askTicket, nil); err != nil {
		if short.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("nothing came within %v", n.opt.Answer)
		}
		e := unreachable(p, err)
		e.Text = fmt.Sprintf("%s was not carried out: %s", a.Action, e.Text)
		return r, e
	}
	question, err := json.Marshal(o)
	if err != nil {
		return r, err
	}
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	go n.watch(ctx, p, lost)
	r, err = askOne[result](ctx, n, *p, askAct, question)
	if context.Cause(ctx) == errLost || err != nil && ctx.Err() == nil {
		return r, &report.Error{Kind: report.Unreachable, Text: fmt.Sprintf("node %s at %s has stopped answering, so it is not known whether %s was carried out; look at troupe cluster status and events", p.Node.Name, p.Address, a.Action)}
	}
	return r, err
}

var errLost = errors.New("the node is lost")

// watch ends the wait for a node that is lost, or has ended.
func (n *Node) watch(ctx context.Context, p *Peer, lost context.CancelCauseFunc) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		there := false
		for _, other := range n.others(ctx) {
			there = there || other.Node.Incarnation == p.Node.Incarnation && !other.Lost
		}
		if !there && ctx.Err() == nil {
			lost(errLost)
			return
		}
	}
}
