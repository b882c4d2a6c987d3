package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// engineNode is the adapter of an engine. gateway is the one that it names.
func engineNode(t testing.TB, engine httpapi.Engine, opt httpapi.Options, gateway string) *testserver.Server {
	return adapter(t, httpapi.Deps{Options: opt, Models: httpapi.Serving(&httpapi.Served{Model: httpapi.Model{ID: "alpha"}, Engine: engine}),
		Node: &httpapi.EngineNode{Cluster: "zoo", Gateway: func() string { return gateway }}})
}

// An engine answers what is about itself as a server of its own does.
func TestAnEngineAnswersForItself(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	post(t, s, "/v1/completions", object{"prompt": onceUpon, "max_tokens": 2})
	s.WaitIdle(t)
	n := engineNode(t, s.Engine, httpapi.Options{}, "")
	for _, path := range []string{"/livez", "/readyz", "/health", "/debug/audit", "/debug/cache?tokens=2", "/debug/cache?format=text"} {
		if got, want := send(t, n, "GET", path, nil), send(t, s, "GET", path, nil); got.status != http.StatusOK || string(got.body) != string(want.body) {
			t.Errorf("%s: %d: %s, want %s", path, got.status, got.body, want.body)
		}
	}
	for _, path := range []string{"/server_info", "/get_server_info"} {
		if a := send(t, n, "GET", path, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if c := s.Audit(t).Count; c.Evictable == 0 {
		t.Error("nothing is cached")
	}
	want(t, send(t, n, "POST", "/flush_cache", nil).object(t), true, "success")
	if c := s.Audit(t).Count; c.Evictable != 0 {
		t.Errorf("the cache has %d pages after a flush", c.Evictable)
	}
	n.HTTP.Drain()
	wantError(t, "/readyz of a server that drains", send(t, n, "GET", "/readyz", nil), 503, nil, nil, "shutting down")

	down := engineNode(t, silentEngine{}, httpapi.Options{}, "")
	for _, path := range []string{"/readyz", "/health", "/debug/audit", "/debug/cache"} {
		wantError(t, path+" while it is down", send(t, down, "GET", path, nil), 503, nil, nil, "starting or recovering")
	}
}

// An engine sends clients to a gateway, whatever they ask for.
func TestAnEngineNamesAGateway(t *testing.T) {
	n, lonely := engineNode(t, deaf{ready: true}, httpapi.Options{}, "http://10.0.0.7:30000"), engineNode(t, deaf{}, httpapi.Options{}, "")
	for path, body := range bodies() {
		wantError(t, path, send(t, n, "POST", path, body), 421, "engine_node", nil,
			"this node is an engine of the cluster zoo", "for example http://10.0.0.7:30000")
		wantError(t, path, send(t, lonely, "POST", path, body), 421, "engine_node", nil,
			"this node is an engine of the cluster zoo", "knows none yet")
	}
	for path, method := range map[string]string{"/v1/models": "GET", "/v1/models/alpha": "GET", "/health_generate": "GET", "/abort_request": "POST",
		"/v1/kv_events": "GET", "/": "GET", "/v1/embeddings": "POST"} {
		wantError(t, path, send(t, n, method, path, nil), 421, "engine_node", nil, "http://10.0.0.7:30000")
	}
	if a := send(t, n, "GET", "/flush_cache", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("GET /flush_cache: %d", a.status)
	}
}

// Keys count at an engine as at any server: who has none learns of no gateway.
func TestAnEngineAsksForKeys(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	n := engineNode(t, s.Engine, httpapi.Options{APIKeys: []string{"k"}, AdminAPIKey: "admin"}, "http://10.0.0.7:30000")
	for path, c := range map[string]struct {
		method             string
		nobody, user, boss int
	}{
		"/livez": {"GET", 200, 200, 200}, "/readyz": {"GET", 200, 200, 200}, "/server_info": {"GET", 401, 200, 200},
		"/debug/audit": {"GET", 401, 403, 200}, "/debug/cache": {"GET", 401, 403, 200}, "/flush_cache": {"POST", 401, 403, 200},
		"/v1/models": {"GET", 401, 421, 421},
	} {
		for key, status := range map[string]int{"": c.nobody, "k": c.user, "admin": c.boss} {
			if a := send(t, n, c.method, path, nil, "Authorization", "Bearer "+key); a.status != status {
				t.Errorf("%s with the key %q: %d, want %d", path, key, a.status, status)
			}
		}
	}
}
