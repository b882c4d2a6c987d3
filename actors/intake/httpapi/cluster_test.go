package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// operators is a cluster that answers what a test says.
type operators struct {
	mu     sync.Mutex
	state  string
	acted  []report.Action
	err    error
	events chan []report.Event
	after  []uint64
	aborts []report.Abort
}

func (o *operators) Abort(_ context.Context, a report.Abort) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.aborts = append(o.aborts, a)
}

func (o *operators) State() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state
}

func (o *operators) set(state string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state, o.err = state, err
}

func (o *operators) Nodes(context.Context) []report.Node {
	return []report.Node{{Name: "engine-1", Role: "engine", State: report.Ready, KVTotal: 64}}
}

func (o *operators) Actors(_ context.Context, node string) ([]report.Actor, error) {
	if node != "" && node != "engine-1" {
		return nil, &report.Error{Kind: report.Unknown, Text: "unknown node " + node}
	}
	return []report.Actor{}, o.err
}

func (o *operators) Last(context.Context) (uint64, error) { return 41, nil }

func (o *operators) Events(ctx context.Context, after uint64) ([]report.Event, error) {
	o.mu.Lock()
	o.after = append(o.after, after)
	o.mu.Unlock()
	select {
	case e, ok := <-o.events:
		if !ok {
			return nil, &report.Error{Kind: report.Refused, Text: "too many readers"}
		}
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (o *operators) Act(_ context.Context, a *report.Action) (*report.Outcome, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acted = append(o.acted, *a)
	if o.err != nil {
		return nil, o.err
	}
	return &report.Outcome{Node: "engine-1", Outcome: "done"}, nil
}

func supervised(t testing.TB, opt httpapi.Options, change func(*httpapi.Deps)) (*testserver.Server, *operators) {
	o := &operators{state: report.Ready, events: make(chan []report.Event, 4)}
	deps := httpapi.Deps{Options: opt, Models: httpapi.Serving(&httpapi.Served{Model: httpapi.Model{ID: "alpha"}, Engine: deaf{ready: true}}), Cluster: o}
	if change != nil {
		change(&deps)
	}
	return adapter(t, deps), o
}

func TestClusterAnswers(t *testing.T) {
	single, _ := supervised(t, httpapi.Options{}, nil)
	engine, _ := supervised(t, httpapi.Options{}, func(d *httpapi.Deps) {
		d.Node = &httpapi.EngineNode{Cluster: "zoo", Gateway: func() string { return "" }}
	})
	gateway, _ := supervised(t, httpapi.Options{}, func(d *httpapi.Deps) { d.Gateway = true })
	for name, s := range map[string]*testserver.Server{"single": single, "engine": engine, "gateway": gateway} {
		nodes := send(t, s, "GET", "/v1/cluster", nil).object(t)
		want(t, nodes, "engine-1", "nodes", 0, "name")
		want(t, nodes, 64, "nodes", 0, "kv_total")
		want(t, nodes, nil, "nodes", 0, "last_failure")
		want(t, send(t, s, "GET", "/v1/cluster/actors?node=engine-1", nil).object(t), list{}, "actors")
		wantError(t, name, send(t, s, "GET", "/v1/cluster/actors?node=x", nil), 404, "unknown", "node", "unknown node x")
		wantError(t, name, send(t, s, "GET", "/v1/cluster/actors?nod=x", nil), 400, "unknown_parameter", "nod", "did you mean node?")
		wantError(t, name, send(t, s, "GET", "/v1/cluster?node=x", nil), 400, "unknown_parameter", "node")
		wantError(t, name, send(t, s, "GET", "/v1/cluster/events?after=x", nil), 400, nil, "after", "number of an event")
		if a := send(t, s, "GET", "/v1/cluster/actions", nil); a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := send(t, adapter(t, httpapi.Deps{Models: httpapi.Serving()}), "GET", "/v1/cluster", nil); a.status != http.StatusNotFound {
		t.Errorf("without a cluster: %d", a.status)
	}
}

// The request that a client ends may have come through another gateway.
func TestAbortGoesToAllGateways(t *testing.T) {
	s, o := supervised(t, httpapi.Options{AdminAPIKey: "boss"}, func(d *httpapi.Deps) { d.Gateway = true })
	if a := send(t, s, "POST", "/abort_request", object{"rid": "chat-7"}, "Authorization", "Bearer boss"); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := send(t, s, "POST", "/abort_request", object{"abort_all": true}, "Authorization", "Bearer boss"); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if len(o.aborts) != 2 || o.aborts[0].UserID != "chat-7" || !o.aborts[0].AnyOwner || o.aborts[0].All || !o.aborts[1].All {
		t.Errorf("%+v", o.aborts)
	}
}

func TestClusterActions(t *testing.T) {
	s, o := supervised(t, httpapi.Options{AdminAPIKey: "boss"}, nil)
	body := object{"action": "drain", "target": "engine-1", "reason": "a new disk", "force": true}
	act := func(body object) answer {
		return send(t, s, "POST", "/v1/cluster/actions", body, "Authorization", "Bearer boss")
	}
	want(t, act(body).object(t), object{"node": "engine-1", "outcome": "done"})
	got := o.acted[0]
	if got.Action != "drain" || got.Target != "engine-1" || got.Reason != "a new disk" || !got.Force ||
		!strings.HasPrefix(got.Operator, "the admin key from 127.0.0.1:") || strings.Contains(got.Operator, "boss") {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		change object
		code   any
		param  any
		words  []string
	}{
		"another action":  {object{"action": "explode"}, nil, nil, []string{`unknown action "explode"`, "drain, undrain"}},
		"no reason":       {object{"reason": nil}, nil, nil, []string{"reason is missing"}},
		"no target":       {object{"target": nil}, nil, nil, []string{"target is", "NODE/PATH"}},
		"drain an actor":  {object{"target": "engine-1/engine/intake"}, nil, nil, []string{"drain is for nodes"}},
		"crash a node":    {object{"action": "crash"}, nil, nil, []string{"crash is for actors"}},
		"an operator":     {object{"operator": "me"}, "unknown_parameter", "operator", nil},
		"a long reason":   {object{"reason": strings.Repeat("x", 501)}, nil, nil, []string{"at most 500"}},
		"another type":    {object{"force": "yes"}, nil, "force", []string{"must be a boolean"}},
		"a path with end": {object{"target": "engine-1/"}, nil, nil, []string{"NODE/PATH"}},
	} {
		wantError(t, name, act(with(body, c.change)), 400, c.code, c.param, c.words...)
	}
	for kind, status := range map[string]int{report.Unknown: 404, report.InProgress: 409, report.Refused: 409, report.Unreachable: 502, report.Unfinished: 500, report.Invalid: 400} {
		o.set(report.Ready, &report.Error{Kind: kind, Text: "because"})
		wantError(t, kind, act(body), status, kind, "target", "because")
	}
	o.set(report.Ready, errors.New("oops"))
	wantError(t, "a bug", act(body), 500, nil, nil, "bug in the server", "oops")
	if n := len(o.acted); n != 8 {
		t.Errorf("%d actions", n)
	}
	for key, status := range map[string]int{"": 401, "other": 401} {
		for path, method := range map[string]string{"/v1/cluster": "GET", "/v1/cluster/actors": "GET", "/v1/cluster/events": "GET", "/v1/cluster/actions": "POST"} {
			if a := send(t, s, method, path, nil, "Authorization", "Bearer "+key); a.status != status {
				t.Errorf("%s with the key %q: %d", path, key, a.status)
			}
		}
	}
}

// A drained or stopped process refuses calls, and is not ready; one that has taken itself
// out is not ready, but keeps its calls.
func TestOutOfService(t *testing.T) {
	s, o := supervised(t, httpapi.Options{}, nil)
	for _, state := range []string{report.Draining, report.Stopped, report.Failed} {
		o.set(state, nil)
		for _, path := range []string{"/readyz", "/health"} {
			wantError(t, path, send(t, s, "GET", path, nil), 503, "not_in_service", nil, "this node is "+state)
		}
		for path, body := range bodies() {
			if strings.Contains(path, "tokenize") {
				continue
			}
			a := send(t, s, "POST", path, with(body, object{"model": "nobody"}))
			if state != report.Failed {
				wantError(t, path, a, 503, "not_in_service", nil, state)
			} else if a.status == http.StatusServiceUnavailable {
				t.Errorf("%s while %s: %d", path, state, a.status)
			}
		}
	}
	o.set(report.Ready, nil)
	if a := send(t, s, "GET", "/readyz", nil); a.status != http.StatusOK {
		t.Errorf("%d: %s", a.status, a.body)
	}
}

func TestClusterEvents(t *testing.T) {
	s, o := supervised(t, httpapi.Options{KeepAlive: 1e6}, nil)
	for query, c := range map[string]struct {
		header string
		after  uint64
	}{"": {"", 41}, "?after=7": {"9", 7}, "?after=0": {"", 0}, "?": {"12", 12}} {
		o.mu.Lock()
		o.after = nil
		o.mu.Unlock()
		headers := []string{}
		if c.header != "" {
			headers = []string{"Last-Event-ID", c.header}
		}
		resp := open(t, s, "GET", "/v1/cluster/events"+query, nil, headers...)
		o.events <- []report.Event{{Number: 50, Kind: report.EventGap, Text: "some are missing"}, {Number: 51, Node: "engine-1", Kind: report.EventEpoch}}
		var lines []string
		alive := false
		for scanner := bufio.NewScanner(resp.Body); len(lines) < 4 && scanner.Scan(); {
			switch line := scanner.Text(); {
			case strings.HasPrefix(line, ": alive"):
				alive = true
			case line != "" && !strings.HasPrefix(line, ":"):
				lines = append(lines, line)
			}
		}
		for scanner := bufio.NewScanner(resp.Body); !alive && scanner.Scan(); {
			alive = strings.HasPrefix(scanner.Text(), ": alive")
		}
		resp.Body.Close()
		if !alive || len(lines) != 4 || lines[0] != "id: 50" || lines[2] != "id: 51" || !strings.HasPrefix(lines[3], `data: {"number":51,`) {
			t.Errorf("%q: alive %t, %q", query, alive, lines)
		}
		o.mu.Lock()
		if o.after[0] != c.after || len(o.after) > 1 && o.after[1] != 51 {
			t.Errorf("%q with %q asks for %v", query, c.header, o.after)
		}
		o.mu.Unlock()
	}
	close(o.events)
	resp := open(t, s, "GET", "/v1/cluster/events", nil)
	defer resp.Body.Close()
	found := false
	for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
		found = found || strings.Contains(scanner.Text(), "too many readers")
	}
	if !found {
		t.Error("the stream ends without a reason")
	}
}

// A stream of events does not hold up a shutdown.
func TestClusterEventsEndWithTheServer(t *testing.T) {
	s, _ := supervised(t, httpapi.Options{}, nil)
	resp := open(t, s, "GET", "/v1/cluster/events", nil)
	defer resp.Body.Close()
	s.HTTP.Drain()
	for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
		if strings.HasPrefix(scanner.Text(), "data") {
			t.Error(scanner.Text())
		}
	}
}
