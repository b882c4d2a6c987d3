package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

// asked carries out an action of an operator.
func asked(t *testing.T, n *Node, what, target string) string {
	t.Helper()
	o, err := n.super.clusterAPI().Act(t.Context(), &report.Action{Action: what, Target: target, Reason: "a test", Operator: "Ada", Force: true})
	if err != nil {
		t.Errorf("%s of %s: %v", what, target, err)
		return ""
	}
	return o.Outcome
}

// happened waits for an event with all words.
func happened(t *testing.T, n *Node, words ...string) {
	t.Helper()
	for after := uint64(0); ; {
		events, err := n.super.clusterAPI().Events(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			after = e.Number
			missing := false
			for _, w := range words {
				missing = missing || !strings.Contains(fmt.Sprintf("%s %s %s %s", e.Kind, e.Actor, e.Operator, e.Text), w)
			}
			if !missing {
				return
			}
		}
	}
}

// computes has a node generate.
func computes(t *testing.T, n *Node) string {
	t.Helper()
	prompt, err := n.EncodeText("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Complete(t.Context(), prompt, Sampling{MaxTokens: 20, Set: func(flag string) bool { return flag == "temperature" }}, false, func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return a.Text
}

// A process outside of a cluster is seen and controlled as a node of one.
func TestOperatorsOfASingleProcess(t *testing.T) {
	c := settings(t)
	c.Chaos = true
	n := open(t, c, nil)
	api, text := n.super.clusterAPI(), computes(t, n)
	nodes := api.Nodes(t.Context())
	if len(nodes) != 1 || nodes[0].Role != "single" || nodes[0].Model != n.Name || nodes[0].State != report.Ready || nodes[0].Epoch != 1 ||
		nodes[0].PID != os.Getpid() || nodes[0].KVTotal != 4096 || nodes[0].LastFailure != nil || nodes[0].Incarnation == "" {
		t.Errorf("%+v", nodes)
	}
	name := nodes[0].Name
	actors, err := api.Actors(t.Context(), name)
	if err != nil || len(actors) < 8 {
		t.Fatalf("%+v %v", actors, err)
	}
	for _, a := range actors {
		if a.Path == "node" || a.Path == "engine" {
			continue
		}
		if got := asked(t, n, "restart", name+"/"+a.Path); !strings.Contains(got, "has kept its state") && !strings.Contains(got, "its requests were submitted again") && !strings.Contains(got, "ended; epoch") {
			t.Errorf("%s: %s", a.Path, got)
		}
		if got := computes(t, n); got != text {
			t.Errorf("after a restart of %s: %q, want %q", a.Path, got, text)
		}
	}
	if last := api.Nodes(t.Context())[0].LastFailure; last != nil {
		t.Errorf("restarts are failures: %+v", last)
	}
	happened(t, n, "action", "engine/intake", "Ada", "has kept its state")
	asked(t, n, "crash", name+"/engine/supervisor/cache")
	happened(t, n, "epoch", "engine/supervisor/cache", "asked for a crash")
	if last := api.Nodes(t.Context())[0].LastFailure; last == nil || last.Actor != "engine/supervisor/cache" {
		t.Errorf("%+v", last)
	}
	asked(t, n, "crash", name+"/engine/intake")
	happened(t, n, "panic", "engine/intake", "asked for a crash")
	for _, c := range []struct{ what, state, words string }{
		{"drain", report.Draining, "takes no new requests"}, {"drain", report.Draining, "already draining"},
		{"undrain", report.Ready, "takes new requests again"}, {"undrain", report.Ready, "already ready"},
		{"stop", report.Stopped, "has stopped"}, {"stop", report.Stopped, "already stopped"},
		{"start", report.Ready, "is ready again"}, {"drain", report.Draining, "takes no new requests"}, {"start", report.Ready, "takes new requests again"},
	} {
		if got := asked(t, n, c.what, name); !strings.Contains(got, c.words) {
			t.Errorf("%s: %q", c.what, got)
		}
		if state := api.Nodes(t.Context())[0].State; state != c.state {
			t.Errorf("after %s it is %s", c.what, state)
		}
		if ready := n.Engine.Ready(); ready != (c.state != report.Stopped) {
			t.Errorf("after %s its engine is ready: %t", c.what, ready)
		}
	}
	if got := computes(t, n); got != text {
		t.Errorf("after all of it: %q, want %q", got, text)
	}
	for _, target := range []string{name, name + "/node", name + "/engine"} {
		_, err := api.Act(t.Context(), &report.Action{Action: "restart", Target: target, Reason: "a test", Force: true})
		if e := (*report.Error)(nil); !errors.As(err, &e) || e.Kind != report.Refused {
			t.Errorf("restart of %s: %v", target, err)
		}
	}
	if _, err := api.Act(t.Context(), &report.Action{Action: "stop", Target: name, Reason: "a test"}); err == nil || !strings.Contains(err.Error(), "force") {
		t.Errorf("the last engine: %v", err)
	}
}

// An operator's restart ends Serve when all requests have ended, or had their time.
func TestRestartOfAProcess(t *testing.T) {
	c := settings(t)
	c.HTTP.Port, c.DrainTimeout = 0, 50*time.Millisecond
	n, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop(), CanRestart: true, Engine: func(spec *engine.Spec) {
		spec.Members[0].Executor = slow{spec.Members[0].Executor}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, n)
	l, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + l.API.Addr().String()
	served := make(chan error, 1)
	go func() { served <- n.Serve(t.Context(), n.API(), l) }()
	resp, err := http.Post(at+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "Once", "stream": true, "ignore_eos": true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := fmt.Sprintf(`{"action": "restart", "target": %q, "reason": "a new binary", "force": true}`, n.super.name)
	answer, err := http.Post(at+"/v1/cluster/actions", "application/json", strings.NewReader(body))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%+v %v", answer, err)
	}
	answer.Body.Close()
	if err := <-served; !errors.Is(err, ErrRestart) {
		t.Errorf("Serve ended with %v", err)
	}
}

// broken is an executor that fails while it is told to.
type broken struct {
	runner.Executor
	fails *atomic.Bool
}

func (b broken) Submit(m *messages.RunBatch, done func(*messages.BatchDone, error)) {
	if b.fails.Load() {
		go done(nil, errors.New("no electricity"))
		return
	}
	b.Executor.Submit(m, done)
}

// An engine whose epochs end without a token takes itself out, and is back when it has
// computed one. Its requests go on.
func TestAnEngineTakesItselfOut(t *testing.T) {
	for _, role := range []string{"", "engine", "both"} {
		var fails atomic.Bool
		fails.Store(true)
		c := settings(t)
		c.Cluster.Role = role
		if role != "" {
			c.Cluster.Listen = "127.0.0.1:0"
			c.Cluster.Node = "one"
		}
		n := open(t, c, func(spec *engine.Spec) {
			spec.Members[0].Executor = broken{spec.Members[0].Executor, &fails}
			spec.Backoff = engine.Backoff{Base: time.Microsecond, Cap: time.Microsecond}
		})
		front := n.fronts()[0]
		go func() { // a request ends after some epochs, so others follow
			for call := messages.CallID(1); n.super.State() != report.Failed && t.Context().Err() == nil; call++ {
				events := make(chan messages.CallEvent, 16)
				front.Send(&messages.SubmitRequests{Call: call, Events: events, Requests: []messages.Submission{{Prompt: []int32{1, 2, 3}, After: -1,
					Params: &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 2, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}}})
				for finished := false; !finished; {
					select {
					case event := <-events:
						out, ok := event.(*messages.CallOutput)
						finished = ok && out.Finish != nil
					case <-n.super.ended:
						return
					}
				}
			}
		}()
		happened(t, n, "state", "takes itself out", "5 epochs in a row")
		if state := n.super.State(); state != report.Failed {
			t.Errorf("role %q: it is %s", role, state)
		}
		fails.Store(false)
		happened(t, n, "state", "is ready again: it has computed a token")
		if state := n.super.State(); state != report.Ready || !n.Ready() {
			t.Errorf("role %q: it is %s, ready %t", role, state, n.Ready())
		}
	}
}

// held is an executor whose steps wait.
type held struct {
	runner.Executor
	begun chan struct{} // gets a value for each step
	goOn  chan struct{} // closed when steps may go on
}

func (h held) Submit(m *messages.RunBatch, done func(*messages.BatchDone, error)) {
	h.begun <- struct{}{}
	go func() {
		<-h.goOn
		h.Executor.Submit(m, done)
	}()
}

// What an operator decides during a probe counts, whatever the probe comes to.
func TestAnOperatorDecidesDuringAProbe(t *testing.T) {
	for _, what := range []string{report.Undrain, report.Drain} {
		h := held{begun: make(chan struct{}, 1000), goOn: make(chan struct{})}
		c := settings(t)
		c.Cluster.Role, c.Cluster.Listen, c.Cluster.Node = "both", "127.0.0.1:0", "one"
		n := open(t, c, func(spec *engine.Spec) {
			h.Executor = spec.Members[0].Executor
			spec.Members[0].Executor = h
		})
		if _, err := n.super.leave(t.Context(), report.Failed, "a test"); err != nil {
			t.Fatal(err)
		}
		n.super.setState(report.Failed)
		ctx, cancel := context.WithCancel(t.Context())
		probed := make(chan bool, 1)
		go func() { probed <- n.super.probe(ctx) }()
		<-h.begun
		asked(t, n, what, "one")
		cancel()
		if <-probed {
			t.Error("the probe has computed a token")
		}
		close(h.goOn)
		if out := n.cluster.own().unlinked.Load(); out != (what == report.Drain) {
			t.Fatalf("after %s the engine is out of service: %t", what, out)
		}
		if what == report.Undrain && computes(t, n) == "" {
			t.Error("it computes nothing")
		}
	}
}

func TestProbesGetRarer(t *testing.T) {
	var p probation
	var got []time.Duration
	for range 6 {
		got = append(got, p.next()/time.Second)
	}
	if fmt.Sprint(got) != "[2ns 4ns 8ns 16ns 30ns 30ns]" {
		t.Errorf("%v", got)
	}
}
