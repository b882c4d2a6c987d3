package node

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// stalling is an executor that completes some steps, and the others only when it may.
type stalling struct {
	runner.Executor
	left *atomic.Int64
	goOn chan struct{}
}

func (s stalling) Submit(m *messages.RunBatch, done func(*messages.BatchDone, error)) {
	if s.left.Add(-1) >= 0 {
		s.Executor.Submit(m, done)
		return
	}
	go func() {
		<-s.goOn
		s.Executor.Submit(m, done)
	}()
}

// A request that a node with both roles has begun continues at another engine when the node
// is drained: its fingerprint is the final one, however long the node hashes its weights.
func TestARequestLeavesTheNodeThatBeganIt(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("starting several remotes in one process is a race of the runtime: each replaces grpc's logger")
	}
	want := computes(t, open(t, settings(t), nil))
	var left atomic.Int64
	left.Store(6)
	goOn := make(chan struct{})
	opt := Options{Config: clusteredSettings(t, "both"), Log: zerolog.Nop(), Engine: func(spec *engine.Spec) {
		spec.Members[0].Executor = stalling{spec.Members[0].Executor, &left, goOn}
	}}
	unhashed := func(n *Node, _ context.Context) error {
		n.stopHash()
		n.hash.Store(nil)
		return nil
	}
	hashes := func(n *Node, ctx context.Context) error {
		n.startHash(ctx)
		return nil
	}
	both, err := openSteps(t.Context(), opt, (*Node).openModel, (*Node).openText, (*Node).openDevice, (*Node).startSystem,
		unhashed, (*Node).startEngine, hashes, (*Node).joinCluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, both) })
	t.Cleanup(func() { close(goOn) }) // before the node closes
	prompt, err := both.EncodeText("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan string, 1)
	go func() {
		told := false
		a, err := both.Complete(t.Context(), prompt, Sampling{MaxTokens: 20, Set: func(flag string) bool { return flag == "temperature" }}, false, func(string) error {
			if !told {
				told = true
				close(begun)
			}
			return nil
		})
		if err != nil {
			ended <- err.Error()
			return
		}
		ended <- a.Text
	}()
	<-begun
	open(t, clusteredSettings(t, "engine", both.ClusterAddress()), nil)
	happened(t, both, "linked")
	asked(t, both, "drain", "a both")
	if got := <-ended; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	happened(t, both, "moved", "1 request has moved")
}
