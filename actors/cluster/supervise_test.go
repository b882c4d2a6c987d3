package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/members"
	"github.com/troupe-engine/troupe/cluster/report"
)

// supervised adds what people see to a node.
func supervised(events chan<- members.Event) func(*Options) {
	return func(o *Options) {
		o.Roster, o.Chaos = roster.New(nil), true
		o.Event = func(e members.Event) { events <- e }
		o.Answer = func(_ context.Context, kind string, question []byte, write func([]byte) error) error {
			if kind != "echo" {
				return errors.New("what is " + kind + "?")
			}
			for range 3 {
				if err := write(append([]byte(o.Self.Node+" heard "), question...)); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

func TestNodesAskEachOther(t *testing.T) {
	several(t)
	events := make(chan members.Event, 1000)
	a, b := startWith(t, "a", true, supervised(events)), start(t, "b", false)
	var got []string
	ask := func(from *node, at, kind string) error {
		return from.Ask(t.Context(), at, kind, []byte("you"), func(b []byte) error {
			got = append(got, string(b))
			return nil
		})
	}
	if err := ask(b, a.Address(), "echo"); err != nil || len(got) != 3 || got[2] != "a heard you" {
		t.Errorf("%q %v", got, err)
	}
	var refused *transport.Refusal
	for at, kind := range map[string]string{a.Address(): "poem", b.Address(): "echo"} {
		if err := ask(a, at, kind); !errors.As(err, &refused) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// until waits for an event.
func until(events <-chan members.Event, kind string) members.Event {
	for e := range events {
		if e.Kind == kind {
			return e
		}
	}
	return members.Event{}
}

// An engine that is withdrawn has no links and gets none, and its requests go on elsewhere.
// Served again, it is used again. A link that an operator ends is followed by another one.
func TestWithdrawAndServe(t *testing.T) {
	several(t)
	events := make(chan members.Event, 1000)
	gateway := startWith(t, "gateway", true, supervised(events))
	first, second := start(t, "first", false), start(t, "second", false)
	gateway.Propose([]string{first.Address(), second.Address()})
	<-gateway.opened
	want := answers(t, gateway.front, 60, nil)
	until(events, report.EventLinked)
	until(events, report.EventLinked)
	check := func(what string, midway func()) {
		t.Helper()
		for i, got := range answers(t, gateway.front, 60, midway) {
			if got != want[i] {
				t.Errorf("%s, call %d:\n got  %s\n want %s", what, i, got, want[i])
			}
		}
	}
	check("withdrawn", func() {
		if n, err := first.Withdraw(t.Context(), report.Draining, "an operator asked"); n != 1 || err != nil {
			t.Errorf("%d links %v", n, err)
		}
	})
	if e := until(events, report.EventUnlinked); e.Node != "first" || !strings.Contains(e.Text, "an operator asked") {
		t.Errorf("%+v", e)
	}
	nodes, err := gateway.Nodes(t.Context())
	for err == nil && !drains(nodes) { // its next hello says so
		nodes, err = gateway.Nodes(t.Context())
	}
	if n, err := first.Withdraw(t.Context(), report.Stopped, "again"); n != 0 || err != nil {
		t.Errorf("%d links %v", n, err)
	}
	first.Serve(&Engine{Portal: first.engine.Portal(), Model: facts(), Texts: texts, Limits: limits})
	until(events, report.EventLinked)
	check("a link restarted", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for _, path := range []string{"cluster/engine-1", "cluster/engine-2"} {
			if text, err := gateway.RestartLink(ctx, path, "an operator asked"); err != nil || !strings.Contains(text, "the next one began") {
				t.Errorf("%q %v", text, err)
			}
		}
	})
	for _, path := range []string{"cluster/engine-9", "cluster"} {
		if text, err := gateway.RestartLink(t.Context(), path, "an operator asked"); err == nil || !strings.Contains(err.Error(), "actor "+path+" of node gateway is not an open link now; `troupe cluster actors --node gateway` lists") {
			t.Errorf("%s: %q %v", path, text, err)
		}
	}
	// Crashes of the parent and of links cost no answer either.
	r := gateway.opt.Roster
	for _, a := range r.Actors() { // a new link of a slot is not a restart of the old one
		if strings.HasPrefix(a.Path, "cluster/engine-") && (a.Restarts > 0 || a.Peer == "") {
			t.Errorf("%+v", a)
		}
	}
	check("crashes", func() {
		for _, path := range []string{"cluster", "cluster/engine-1", "cluster", "cluster/engine-2", "cluster"} {
			r.Find(path).Crash("a test")
		}
	})
	for _, path := range []string{"cluster", "cluster/engine-1"} {
		for r.Find(path).LastFailure() == nil {
			if _, err := gateway.Nodes(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func drains(nodes []members.Node) bool {
	for _, n := range nodes {
		if n.Hello.Node == "first" && n.Hello.State == report.Draining && n.Hello.Engine == nil {
			return true
		}
	}
	return false
}
