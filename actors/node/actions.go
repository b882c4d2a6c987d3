package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/internal/units"
)

// Act carries out what an operator asks for, at the node of the target.
func (n *Node) Act(ctx context.Context, a *report.Action) (*report.Outcome, error) {
	if err := a.Check(); err != nil {
		return nil, &report.Error{Kind: report.Invalid, Text: err.Error()}
	}
	name, _ := a.Split()
	r := result{}
	if name == n.name {
		r = n.here(ctx, a)
	} else {
		p, e := n.find(n.others(ctx), name)
		if e != nil {
			return nil, e
		}
		var err error
		if r, err = n.elsewhere(ctx, p, a); err != nil {
			return nil, err
		}
	}
	if r.Error != nil {
		return nil, r.Error
	}
	if r.Outcome == nil {
		return nil, &report.Error{Kind: report.Unfinished, Text: fmt.Sprintf("node %s did not say how the action ended; look at its events", name)}
	}
	return r.Outcome, nil
}

// here carries out an action at this node. It goes on if the operator does not wait.
func (n *Node) here(ctx context.Context, a *report.Action) result {
	if err := n.allowed(a); err != nil {
		return n.over(a, "", err)
	}
	b := &begin{a, make(chan *report.Error, 1)}
	n.system.Root.Send(n.pid, b)
	select {
	case err := <-b.reply:
		if err != nil {
			return n.over(a, "", err)
		}
	case <-ctx.Done():
		n.system.Root.Send(n.pid, &end{a})
		return n.over(a, "", &report.Error{Kind: report.Unfinished, Text: "the operator disconnected"})
	}
	// From here on this node says that it leaves. Of two engines that leave at the same
	// moment at least one sees that of the other.
	if leaves(a) {
		n.leaving.Store(true)
	}
	if err := n.last(ctx, a); err != nil { // only for an action that leaves
		n.leaving.Store(false)
		n.system.Root.Send(n.pid, &end{a})
		return n.over(a, "", err)
	}
	done := make(chan result, 1)
	go func() {
		_, path := a.Split()
		text, err := n.carryOut(context.WithoutCancel(ctx), a, path)
		var known *report.Error
		if err != nil && !errors.As(err, &known) {
			known = &report.Error{Kind: report.Unfinished, Text: err.Error()}
		}
		r := n.over(a, text, known)
		if leaves(a) {
			n.leaving.Store(false) // its state says so, or it has failed
		}
		if a.Action != report.Restart || path != "" || known != nil { // else the process is about to end
			n.system.Root.Send(n.pid, &end{a})
		}
		done <- r
	}()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		return result{Error: &report.Error{Kind: report.Unfinished, Text: fmt.Sprintf("%s of %s goes on; an event will say how it ended", a.Action, a.Target)}}
	}
}

// over records the end of an action and makes its answer.
func (n *Node) over(a *report.Action, text string, err *report.Error) result {
	name, path := a.Split()
	e := report.Event{Kind: report.EventAction, Actor: path, Operator: a.Operator, Text: fmt.Sprintf("%s of %s (%s): %s", a.Action, a.Target, a.Reason, text)}
	if err != nil {
		e.Text = fmt.Sprintf("%s of %s (%s) was not carried out: %s", a.Action, a.Target, a.Reason, err.Text)
	}
	n.Record(e)
	if err != nil {
		return result{Error: err}
	}
	return result{Outcome: &report.Outcome{Node: name, Path: path, Outcome: text}}
}

// allowed refuses what must not be done now, or not here.
func (n *Node) allowed(a *report.Action) *report.Error {
	if err := a.Check(); err != nil { // of another node's operator
		return &report.Error{Kind: report.Invalid, Text: err.Error()}
	}
	name, path := a.Split()
	if name != n.name {
		return &report.Error{Kind: report.Unknown, Text: fmt.Sprintf("this node is called %s, not %s; the other one may have a new address", n.name, name)}
	}
	if path != "" && n.opt.Roster.Find(path) == nil {
		var paths []string
		for _, one := range n.opt.Roster.Actors() {
			paths = append(paths, one.Path)
		}
		return unknown("actor", path, paths)
	}
	if a.Action == report.Crash && !n.opt.Chaos {
		return &report.Error{Kind: report.Refused, Text: "crash is for tests; start the node with debug-chaos"}
	}
	return nil
}

// leaves reports whether an action takes a node out of service.
func leaves(a *report.Action) bool {
	_, path := a.Split()
	return path == "" && (a.Action == report.Drain || a.Action == report.Stop || a.Action == report.Restart)
}

// last refuses to take the last engine of a model away without force.
func (n *Node) last(ctx context.Context, a *report.Action) *report.Error {
	self := n.opt.Process.Report()
	if !leaves(a) || a.Force || self.Model == "" || self.State != report.Ready {
		return nil
	}
	others := 0
	for _, other := range n.Nodes(ctx) {
		if other.Name != n.name && other.Model == self.Model && other.ModelHash == self.ModelHash && other.State == report.Ready {
			if others++; other.Fingerprint == self.Fingerprint || self.Running == 0 {
				return nil
			}
		}
	}
	if others > 0 { // a request with output goes on under an equal fingerprint only
		return &report.Error{Kind: report.Refused, Text: fmt.Sprintf("no other engine that is ready has the fingerprint of node %s, so its %s would wait; wait until they have ended, or add force to %s it anyway", n.name, units.Count(self.Running, "running request"), a.Action)}
	}
	return &report.Error{Kind: report.Refused, Text: fmt.Sprintf("node %s is the last engine of the model %s that is ready, so its requests would wait; add force to %s it anyway", n.name, self.Model, a.Action)}
}

func (n *Node) carryOut(ctx context.Context, a *report.Action, path string) (string, error) {
	if a.Action == report.Crash {
		return n.crash(ctx, a, path)
	}
	return n.opt.Process.Act(ctx, a, path)
}

// crash makes an actor panic at its next message, and waits until it has.
func (n *Node) crash(ctx context.Context, a *report.Action, path string) (string, error) {
	entry := n.opt.Roster.Find(path)
	if entry == nil || entry.IsStopped() {
		return "", &report.Error{Kind: report.Refused, Text: fmt.Sprintf("actor %s is stopped, so it cannot crash", path)}
	}
	before, begun := entry.LastFailure(), n.opt.Now()
	entry.Crash("an operator asked for a crash: " + a.Reason)
	nudge, poll := time.NewTicker(100*time.Millisecond), time.NewTicker(5*time.Millisecond)
	defer nudge.Stop()
	defer poll.Stop()
	ctx, cancel := context.WithTimeout(ctx, n.opt.Settle)
	defer cancel()
	for entry.LastFailure() == before {
		select {
		case <-poll.C:
		case <-nudge.C: // nobody talks to it
			n.opt.Process.Nudge(path)
		case <-ctx.Done():
			entry.Calm()
			return "", fmt.Errorf("actor %s got no message within %v, so it has not crashed", path, n.opt.Settle)
		}
	}
	return fmt.Sprintf("actor %s panicked after %v", path, n.opt.Now().Sub(begun).Round(time.Millisecond)), nil
}
