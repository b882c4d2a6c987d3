package node

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/report"
)

func TestActionsGoToTheirNode(t *testing.T) {
	w := newWorld()
	a := open(t, w, &process{Node: report.Node{Name: "a", State: report.Ready, Model: "m"}}, nil)
	p := &process{Node: report.Node{Name: "b", State: report.Ready, Model: "m"}, roster: roster.New(nil)}
	p.roster.Entry("engine/portal", "portal")
	b := open(t, w, p, nil)
	o, err := a.Act(t.Context(), action("restart", "b/engine/portal"))
	if err != nil || *o != (report.Outcome{Node: "b", Path: "engine/portal", Outcome: "restart done"}) {
		t.Fatalf("%+v %v", o, err)
	}
	for _, n := range []*Node{a, b} {
		if e := find(t, n, "Kind:action", "restart of b/engine/portal (a test): restart done"); e.Operator != "Ada" || e.Node != "b" {
			t.Errorf("%s has %+v", n.name, e)
		}
	}
	for target, words := range map[string][]string{"b/engine/portl": {"unknown actor engine/portl", "engine/portal?"}, "bb": {"unknown node bb", "known are a, b"}} {
		_, err = a.Act(t.Context(), action("restart", target))
		wantError(t, err, report.Unknown, words...)
	}
	bad := action("restart", "b")
	bad.Reason = " "
	_, err = a.Act(t.Context(), bad)
	wantError(t, err, report.Invalid, "reason is missing")
	_, err = a.Act(t.Context(), action("crash", "b/engine/portal"))
	wantError(t, err, report.Refused, "debug-chaos")
	p.err = errors.New("it burns")
	_, err = a.Act(t.Context(), action("drain", "b"))
	wantError(t, err, report.Unfinished, "it burns")
	find(t, a, "drain of b (a test) was not carried out: it burns")
	w.mu.Lock()
	w.lost["b"] = true
	w.mu.Unlock()
	_, err = a.Act(t.Context(), action("undrain", "b"))
	wantError(t, err, report.Unreachable, "node b at b is lost, so it was not asked; wait until `troupe cluster status` shows it again, or start its process")
}

// Two operators at once: the second one learns of the first.
func TestOneActionAtATime(t *testing.T) {
	p := &process{Node: report.Node{Name: "a"}, roster: roster.New(nil), acting: make(chan string), held: make(chan struct{})}
	p.roster.Entry("engine/portal", "portal")
	p.roster.Entry("engine/intake", "intake")
	n := open(t, nil, p, nil)
	done := make(chan error, 2)
	act := func(a *report.Action) {
		_, err := n.Act(t.Context(), a)
		done <- err
	}
	go act(action("restart", "a/engine/portal"))
	<-p.acting
	for _, target := range []string{"a/engine/portal", "a"} {
		second := action("restart", target)
		second.Operator = "Grace"
		_, err := n.Act(t.Context(), second)
		wantError(t, err, report.InProgress, "restart of a/engine/portal is in progress", "Ada")
	}
	go act(action("restart", "a/engine/intake")) // another one
	<-p.acting
	close(p.held)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	go act(action("restart", "a/engine/portal"))
	<-p.acting
	if err := <-done; err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// An operator who does not wait does not end an action.
func TestAnActionGoesOnWithoutItsOperator(t *testing.T) {
	p := &process{Node: report.Node{Name: "a"}, acting: make(chan string), held: make(chan struct{})}
	n := open(t, nil, p, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := n.Act(ctx, action("drain", "a"))
		done <- err
	}()
	<-p.acting
	cancel()
	wantError(t, <-done, report.Unfinished, "goes on")
	close(p.held)
	find(t, n, "drain of a (a test): drain done")
}

func TestTheLastEngineNeedsForce(t *testing.T) {
	w := newWorld()
	of := func(name, model, state string) *process {
		return &process{Node: report.Node{Name: name, Model: model, State: state}}
	}
	a := open(t, w, of("a", "m", report.Ready), nil)
	open(t, w, of("b", "other", report.Ready), nil)
	c := of("c", "m", report.Draining)
	open(t, w, c, nil)
	gateway := open(t, w, of("gateway", "", report.Ready), nil)
	for _, what := range []string{"drain", "stop", "restart"} {
		_, err := a.Act(t.Context(), action(what, "a"))
		wantError(t, err, report.Refused, "last engine of the model m", "force")
		if what != "restart" { // after which nothing acts on it
			forced := action(what, "a")
			forced.Force = true
			if _, err := a.Act(t.Context(), forced); err != nil {
				t.Error(err)
			}
		}
		for _, other := range []string{"c", "gateway"} {
			if _, err := gateway.Act(t.Context(), action(what, other)); err != nil {
				t.Errorf("%s of %s: %v", what, other, err)
			}
		}
	}
	c.State = report.Ready
	if _, err := gateway.Act(t.Context(), action("drain", "a")); err != nil {
		t.Errorf("with another engine: %v", err)
	}
}

// An engine of the same name with other weights does not take the requests.
func TestAnEngineWithOtherWeightsIsNoReplacement(t *testing.T) {
	w := newWorld()
	a := open(t, w, &process{Node: report.Node{Name: "a", Model: "m", ModelHash: "1", State: report.Ready}}, nil)
	open(t, w, &process{Node: report.Node{Name: "b", Model: "m", ModelHash: "2", State: report.Ready}}, nil)
	_, err := a.Act(t.Context(), action("drain", "a"))
	wantError(t, err, report.Refused, "node a is the last engine of the model m")
}

// A request with output can only go on under an equal fingerprint.
func TestTheLastEngineOfAFingerprintNeedsForceWhileItComputes(t *testing.T) {
	w := newWorld()
	p := &process{Node: report.Node{Name: "a", Model: "m", State: report.Ready, Fingerprint: "bf16", Running: 3}}
	a := open(t, w, p, nil)
	other := &process{Node: report.Node{Name: "b", Model: "m", State: report.Ready, Fingerprint: "f32"}}
	open(t, w, other, nil)
	_, err := a.Act(t.Context(), action("drain", "a"))
	wantError(t, err, report.Refused, "no other engine that is ready has the fingerprint of node a", "3 running requests would wait", "force")
	for _, ready := range []func(){
		func() { p.change(func(n *report.Node) { n.Running = 0 }) },
		func() {
			p.change(func(n *report.Node) { n.Running = 3 })
			other.change(func(n *report.Node) { n.Fingerprint = "bf16" })
		},
	} {
		ready()
		if _, err := a.Act(t.Context(), action("drain", "a")); err != nil {
			t.Error(err)
		}
	}
}

// An operator does not wait for a node that is lost.
func TestANodeIsLostDuringAnAction(t *testing.T) {
	w := newWorld()
	a := open(t, w, &process{Node: report.Node{Name: "a"}}, nil)
	p := &process{Node: report.Node{Name: "b"}, acting: make(chan string), held: make(chan struct{})}
	open(t, w, p, nil)
	done := make(chan error, 1)
	go func() {
		_, err := a.Act(t.Context(), action("drain", "b"))
		done <- err
	}()
	<-p.acting
	w.mu.Lock()
	w.lost["b"] = true
	w.mu.Unlock()
	wantError(t, <-done, report.Unreachable, "node b at b has stopped answering", "not known whether drain was carried out")
	close(p.held)
}

// A node that was frozen does not do what was asked of it long before, nor does the process
// after it.
func TestAnActionThatComesTooLate(t *testing.T) {
	var now atomic.Int64
	p := &process{Node: report.Node{Name: "a"}}
	n := open(t, nil, p, func(o *Options) { o.Now = func() time.Time { return time.Unix(0, now.Load()) } })
	drain := action("drain", "a")
	for _, test := range []struct {
		ticket func() ticket
		late   time.Duration
		done   bool
	}{
		{n.ticket, ticketLife, true},
		{n.ticket, ticketLife + 1, false},
		{func() ticket { return ticket{"another", n.ticket().At} }, 0, false},
		{func() ticket { return ticket{p.Incarnation, n.ticket().At + 1} }, 0, false},
	} {
		o := &timely{test.ticket(), drain}
		now.Add(int64(test.late))
		if r := n.obey(t.Context(), o); (r.Error == nil) != test.done {
			t.Errorf("%+v, %v late: %+v", o.Ticket, test.late, r)
		}
	}
	if r := n.obey(t.Context(), &timely{Ticket: n.ticket()}); r.Error == nil {
		t.Error("an order without an action is carried out")
	}
}

// Two operators drain the last two engines at the same moment: a node that is about to leave
// does not count for the other one.
func TestTwoLastEnginesDoNotLeaveTogether(t *testing.T) {
	w := newWorld()
	one := &process{Node: report.Node{Name: "a", Model: "m", State: report.Ready}, acting: make(chan string), held: make(chan struct{}), err: errors.New("it cannot")}
	a := open(t, w, one, nil)
	b := open(t, w, &process{Node: report.Node{Name: "b", Model: "m", State: report.Ready}}, nil)
	done := make(chan error, 1)
	go func() {
		_, err := a.Act(t.Context(), action("drain", "a"))
		done <- err
	}()
	<-one.acting // its state is still ready
	_, err := b.Act(t.Context(), action("drain", "b"))
	wantError(t, err, report.Refused, "node b is the last engine of the model m")
	close(one.held)
	wantError(t, <-done, report.Unfinished, "it cannot")
	if _, err := b.Act(t.Context(), action("drain", "b")); err != nil {
		t.Errorf("after the other one has failed to leave: %v", err)
	}
}

// The answer to a restart comes before the process ends.
func TestNothingActsOnANodeThatRestarts(t *testing.T) {
	p := &process{Node: report.Node{Name: "a"}, err: errors.New("not here")}
	n := open(t, nil, p, nil)
	_, err := n.Act(t.Context(), action("restart", "a"))
	wantError(t, err, report.Unfinished, "not here")
	p.err = nil
	if _, err := n.Act(t.Context(), action("restart", "a")); err != nil {
		t.Fatalf("after one that has failed: %v", err)
	}
	for _, what := range []string{"stop", "restart"} {
		_, err := n.Act(t.Context(), action(what, "a"))
		wantError(t, err, report.InProgress, "restart of a is in progress")
	}
}

// The actor panics at its next message, the node's own too, and nothing is lost.
func TestCrash(t *testing.T) {
	p := &process{Node: report.Node{Name: "a"}}
	p.roster = roster.New(nil)
	p.roster.Entry("engine/queue", "queue")
	p.roster.Entry("gone", "link").Stopped()
	n := open(t, nil, p, func(o *Options) { o.Chaos = true })
	n.Record(report.Event{Kind: report.EventState, Text: "before"})
	for _, path := range []string{"engine/queue", Name, Name} {
		if o, err := n.Act(t.Context(), action("crash", "a/"+path)); err != nil || !strings.Contains(o.Outcome, path+" panicked") {
			t.Errorf("%s: %+v %v", path, o, err)
		}
		if last := p.roster.Find(path).LastFailure(); last == nil || !strings.Contains(last.Cause, "asked for a crash: a test") {
			t.Errorf("%s: %+v", path, last)
		}
	}
	find(t, n, "before")
	_, err := n.Act(t.Context(), action("crash", "a/gone"))
	wantError(t, err, report.Refused, "is stopped")
	if restarts := n.Nodes(t.Context())[0].Restarts; restarts != 3 {
		t.Errorf("%d restarts", restarts)
	}
}
