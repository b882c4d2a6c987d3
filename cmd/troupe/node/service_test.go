package node

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/cluster/report"
)

// openWhile opens a node of a cluster, and calls during before its weights are hashed.
func openWhile(t *testing.T, role string, during func(n *Node)) *Node {
	t.Helper()
	n, err := openSteps(t.Context(), Options{Config: clusteredSettings(t, role), Log: zerolog.Nop()}, (*Node).openModel, (*Node).openText, (*Node).openDevice,
		(*Node).startSystem, (*Node).startEngine, func(n *Node, _ context.Context) error { during(n); return nil }, (*Node).joinCluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, n) })
	return n
}

// What an operator decides while a node starts counts when it has started.
func TestADrainOfANodeThatStarts(t *testing.T) {
	// One after the other: a remote sets a global logger of its libraries when it starts.
	t.Run("drain", func(t *testing.T) {
		n := openWhile(t, "both", func(n *Node) { asked(t, n, "drain", "a both") })
		if state, out := n.super.State(), n.cluster.own().unlinked.Load(); state != report.Draining || !out {
			t.Errorf("it is %s, and its engine is out of service: %t", state, out)
		}
		asked(t, n, "undrain", "a both")
		if computes(t, n) == "" {
			t.Error("it computes nothing")
		}
	})
	t.Run("undrain", func(t *testing.T) {
		n := openWhile(t, "both", func(n *Node) {
			asked(t, n, "drain", "a both")
			asked(t, n, "undrain", "a both")
		})
		if computes(t, n) == "" {
			t.Error("it computes nothing")
		}
	})
}

// lateQuiet is a device whose last step ends when it may.
type lateQuiet struct {
	runner.Executor
	may chan struct{}
}

func (l lateQuiet) Quiesce(done func()) {
	l.Executor.Quiesce(func() {
		go func() {
			<-l.may
			done()
		}()
	})
}

// A stop that takes too long is an error. The engine does not stay stopped for ever.
func TestAStopThatTakesTooLong(t *testing.T) {
	may := make(chan struct{})
	n := open(t, settings(t), func(spec *engine.Spec) { spec.Members[0].Executor = lateQuiet{spec.Members[0].Executor, may} })
	act := func(what string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := n.super.Act(ctx, &report.Action{Action: what, Target: n.super.name, Reason: "a test"}, "")
		return err
	}
	if err := act("stop"); err == nil || !strings.Contains(err.Error(), "have not stopped yet") {
		t.Fatalf("stop: %v", err)
	}
	if err := act("start"); err == nil || !strings.Contains(err.Error(), "no epoch of the engine has begun yet") {
		t.Fatalf("start: %v", err)
	}
	if state := n.super.State(); state != report.Draining {
		t.Errorf("it is %s", state)
	}
	close(may)
	asked(t, n, "start", n.super.name)
	if state := n.super.State(); state != report.Ready || computes(t, n) == "" {
		t.Errorf("it is %s, and may compute nothing", state)
	}
}

// An operator drains a node at the moment when it takes itself out.
func TestADrainIsStrongerThanProbation(t *testing.T) {
	n := open(t, settings(t), nil)
	asked(t, n, "drain", n.super.name)
	n.super.probing.Store(true)
	n.super.takeOut()
	if state := n.super.State(); state != report.Draining {
		t.Errorf("it is %s", state)
	}
}

// The node's own model is not one of engines that have all left.
func TestTheOwnModelIsNotReplaced(t *testing.T) {
	n := open(t, clusteredSettings(t, "both"), nil)
	texts, m := sent(t, n)
	if _, err := n.cluster.OpenModel(t.Context(), m, texts); err == nil || !strings.Contains(err.Error(), "own engine serves") {
		t.Errorf("got %v", err)
	}
	n.cluster.CloseModel(t.Context(), n.Name)
	if computes(t, n) == "" {
		t.Error("it computes nothing")
	}
}

// A model of another engine may be known before this node's own.
func TestTheOwnModelIsNotTheFirst(t *testing.T) {
	other, m := sent(t, textNode(t, settings(t)))
	m.Name, m.PageSize, m.Running = "another", 16, 8
	n, err := openSteps(t.Context(), Options{Config: clusteredSettings(t, "both"), Log: zerolog.Nop()}, (*Node).openModel, (*Node).openText, (*Node).openDevice,
		(*Node).startSystem, func(n *Node, ctx context.Context) error {
			_, err := n.cluster.OpenModel(ctx, m, other)
			return err
		}, (*Node).startEngine, (*Node).joinCluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, n) })
	if n.cluster.offer.Gateway != n.cluster.own().GatewayModel {
		t.Error("the engine is offered with the actors of another model")
	}
}

// A model that no engine has can be closed, and opened again.
func TestAModelIsClosed(t *testing.T) {
	texts, m := sent(t, textNode(t, settings(t)))
	m.PageSize, m.Running = 16, 8
	n := open(t, clusteredSettings(t, "gateway"), nil)
	for range 2 {
		if _, err := n.cluster.OpenModel(t.Context(), m, texts); err != nil {
			t.Fatal(err)
		}
		if n.cluster.Busy(m.Name) || n.cluster.named(m.Name) == nil {
			t.Error("it is busy, or not there")
		}
		n.cluster.CloseModel(t.Context(), m.Name)
		if len(n.cluster.all()) > 0 {
			t.Error("it is still there")
		}
	}
}
