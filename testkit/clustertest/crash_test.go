package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

// view is what a node says about the cluster.
type view struct {
	nodes  map[string]report.Node
	actors []report.Actor
	took   time.Duration // of the question for the actors
}

// view asks a node; ok is false if it has no answer now.
func (n *Node) view() (v view, ok bool) {
	var nodes struct{ Nodes []report.Node }
	var actors struct{ Actors []report.Actor }
	status, text := n.Get("/v1/cluster")
	if status != http.StatusOK || json.Unmarshal([]byte(text), &nodes) != nil {
		return view{}, false
	}
	start := time.Now()
	status, text = n.Get("/v1/cluster/actors")
	v.took = time.Since(start)
	if status != http.StatusOK || json.Unmarshal([]byte(text), &actors) != nil {
		return view{}, false
	}
	v.nodes, v.actors = map[string]report.Node{}, actors.Actors
	for _, one := range nodes.Nodes {
		v.nodes[one.Name] = one
	}
	return v, true
}

// find is an actor of the view, with the epoch of its node; ok is false if it is not there.
func (v view) find(node, path string) (a report.Actor, epoch uint32, ok bool) {
	for _, a := range v.actors {
		if a.Node == node && a.Path == path {
			return a, v.nodes[node].Epoch, true
		}
	}
	return report.Actor{}, 0, false
}

// TestEveryActorCrashes lets each actor of a cluster panic, one after the other, under load.
// Every node then shows that it began again, when and why it failed, and no answer differs.
// Where nothing else runs, that is within a second.
func TestEveryActorCrashes(t *testing.T) {
	const clients = 16
	requests := Workload(7, 100, Lengths{30, 120})
	x := &load{t: t, client: NewClient(clients), requests: requests, want: reference(t, requests)}
	c := Start(t, Options{Gateways: 2, Engines: 3, Args: []string{"--debug-step-time", "20ms", "--debug-chaos"}})
	x.gateways = c.Gateways
	base := warmUp(t, c, x, clients)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { x.run(ctx, clients, 7) })
	asked := c.Gateways[0]
	first, ok := asked.view()
	if !ok || len(first.nodes) != 5 {
		t.Fatalf("%s sees %d nodes", asked.Name, len(first.nodes))
	}
	paths := map[string]int{}
	var shown, took Pauses
	for _, a := range first.actors {
		paths[a.Path]++
		s, questions := c.crash(t, a.Node, a.Path)
		shown, took = append(shown, s), append(took, questions...)
		if s > 500*time.Millisecond {
			t.Logf("%s/%s: shown everywhere after %v", a.Node, a.Path, round(s))
		}
		c.Settled()
	}
	stop()
	running.Wait()
	t.Logf("%d actors crashed: %v\n%d requests; shown everywhere after, %v; a question for the actors took, %v; longest pauses of streams, %v",
		len(first.actors), paths, x.answered.Load(), shown, took, x.pauses)
	if len(paths) < 10 {
		t.Errorf("only %d paths", len(paths))
	}
	if alone && (shown.At(1) > time.Second || took.At(0.99) > 100*time.Millisecond) {
		t.Errorf("shown after %v, want 1 s; a question took %v, want 100 ms", shown.At(1), took.At(0.99))
	}
	x.client.HTTP.CloseIdleConnections()
	settleAtRest(t, c, base)
}

// crash lets an actor panic, and returns how long it took until every node showed it, and
// how long the questions for that took.
func (c *Cluster) crash(t *testing.T, node, path string) (shown time.Duration, took Pauses) {
	t.Helper()
	before, ok := c.Gateways[0].view()
	if !ok {
		t.Fatalf("%s has no answer before the crash of %s/%s", c.Gateways[0].Name, node, path)
	}
	was, epoch, ok := before.find(node, path)
	if !ok {
		t.Fatalf("there is no %s/%s any more", node, path)
	}
	status, text := c.Gateways[0].Post("/v1/cluster/actions", fmt.Sprintf(`{"action":"crash","target":%q,"reason":"every actor"}`, node+"/"+path))
	if status != http.StatusOK {
		t.Fatalf("crash of %s/%s: %d %s", node, path, status, text)
	}
	at := time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, n := range c.Nodes() {
		all.Go(func() {
			last := "it did not answer"
			for end := at.Add(patience); time.Now().Before(end); {
				v, ok := n.view()
				if !ok {
					continue
				}
				now, begun, ok := v.find(node, path)
				mu.Lock()
				took = append(took, v.took)
				if f := now.LastFailure; ok && f != nil && (was.LastFailure == nil || f.At.After(was.LastFailure.At)) && strings.Contains(f.Cause, "every actor") &&
					(now.Restarts > was.Restarts || begun > epoch) {
					shown = max(shown, time.Since(at))
					mu.Unlock()
					return
				}
				mu.Unlock()
				last = fmt.Sprintf("%+v, last failure %+v, epoch %d", now, now.LastFailure, begun)
			}
			t.Errorf("%s does not show the crash of %s/%s; before: %+v, epoch %d; now: %s", n.Name, node, path, was, epoch, last)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return shown, took
}
