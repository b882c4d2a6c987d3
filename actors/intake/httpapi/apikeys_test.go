package httpapi_test

import (
	"crypto/sha256"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// reach is the status of a request.
func reach(t *testing.T, s *testserver.Server, method, path string, headers ...string) (status int, body []byte) {
	t.Helper()
	var send any
	switch path {
	case "/abort_request":
		send = object{"abort_all": true}
	case "/v1/models", "/server_info", "/metrics":
	default:
		if method == "POST" {
			send = "{}"
		}
	}
	resp := open(t, s, method, path, send, headers...)
	defer resp.Body.Close()
	if resp.StatusCode == 200 && path == "/v1/kv_events" {
		return 200, nil // a stream without an end
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// holder is a key of a file with a name of its own.
func holder(key string, admin bool) httpapi.Key {
	return httpapi.Key{Name: "name-of-" + strings.TrimPrefix(key, "k-"), Admin: admin, Digest: sha256.Sum256([]byte(key))}
}

// Access to every kind of endpoint, for every set of keys and every sender. 400 is
// the status of an allowed request with an empty body.
func TestWhoMayDoWhat(t *testing.T) {
	endpoints := []struct{ method, path, kind string }{
		{"GET", "/livez", "open"}, {"GET", "/readyz", "open"}, {"GET", "/health", "open"}, {"GET", "/health_generate", "open"},
		{"GET", "/v1/models", "user"}, {"GET", "/server_info", "user"}, {"GET", "/get_server_info", "user"}, {"GET", "/metrics", "user"},
		{"POST", "/v1/chat/completions", "user"}, {"POST", "/v1/completions", "user"}, {"POST", "/generate", "user"},
		{"POST", "/tokenize", "user"}, {"POST", "/v1/tokenize", "user"}, {"POST", "/detokenize", "user"}, {"POST", "/v1/detokenize", "user"},
		{"POST", "/flush_cache", "admin"}, {"GET", "/debug/cache", "admin"}, {"GET", "/debug/audit", "admin"},
		{"GET", "/v1/kv_events", "admin"}, {"POST", "/abort_request", "admin"},
	}
	const in = 200
	type statuses struct{ user, admin int }
	for name, c := range map[string]struct {
		keys    []string
		admin   string
		senders map[string]statuses
		named   []httpapi.Key
	}{
		"named": {senders: map[string]statuses{"": {401, 401}, "k-wrong": {401, 401}, "k-ann": {in, 403}, "k-boss": {in, in}},
			named: []httpapi.Key{holder("k-ann", false), holder("k-boss", true)}},
		"one named":         {senders: map[string]statuses{"": {401, 401}, "k-ann": {in, 403}}, named: []httpapi.Key{holder("k-ann", false)}},
		"one named admin":   {senders: map[string]statuses{"": {401, 401}, "k-boss": {in, in}}, named: []httpapi.Key{holder("k-boss", true)}},
		"one and one named": {keys: []string{"k-ann"}, senders: map[string]statuses{"": {401, 401}, "k-ann": {in, 403}, "k-bob": {in, 403}}, named: []httpapi.Key{holder("k-bob", false)}},
		"named and others": {[]string{"k-ann"}, "k-boss", map[string]statuses{"": {401, 401}, "k-ann": {in, 403}, "k-boss": {in, in}, "k-bob": {in, 403}, "k-dan": {in, in}},
			[]httpapi.Key{holder("k-bob", false), holder("k-dan", true)}},
		"no key":     {nil, "", map[string]statuses{"": {in, in}, "whatever": {in, in}}, nil},
		"one key":    {[]string{"k-ann"}, "", map[string]statuses{"": {401, 401}, "k-wrong": {401, 401}, "k-ann": {in, in}}, nil},
		"one, twice": {[]string{"k-ann", "k-ann"}, "", map[string]statuses{"": {401, 401}, "k-ann": {in, in}}, nil},
		"several":    {[]string{"k-ann", "k-bob"}, "", map[string]statuses{"": {401, 401}, "k-wrong": {401, 401}, "k-ann": {in, 403}, "k-bob": {in, 403}}, nil},
		"an admin":   {nil, "k-boss", map[string]statuses{"": {in, 401}, "k-wrong": {in, 401}, "k-boss": {in, in}}, nil},
		"one and an admin": {[]string{"k-ann"}, "k-boss",
			map[string]statuses{"": {401, 401}, "k-wrong": {401, 401}, "k-bos": {401, 401}, "k-bosss": {401, 401}, "k-ann": {in, 403}, "k-boss": {in, in}}, nil},
		"several and an admin": {[]string{"k-ann", "k-bob"}, "k-boss", map[string]statuses{"": {401, 401}, "k-ann": {in, 403}, "k-bob": {in, 403}, "k-boss": {in, in}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := testserver.Start(t, testserver.Options{Change: withEvents(0), HTTP: httpapi.Options{APIKeys: c.keys, AdminAPIKey: c.admin, Keys: c.named, HealthInterval: time.Millisecond}})
			for key, status := range c.senders {
				for _, e := range endpoints {
					want := map[string]int{"open": in, "user": status.user, "admin": status.admin}[e.kind]
					headers := []string{"Authorization", "Bearer " + key}
					if key == "" {
						headers = nil
					}
					got, body := reach(t, s, e.method, e.path, headers...)
					if got == 400 && e.method == "POST" && e.kind == "user" {
						got = in
					}
					if got != want {
						t.Errorf("%s %s with %q returns %d, want %d: %s", e.method, e.path, key, got, want, body)
					}
					remedy := "requires the admin key"
					switch {
					case name == "one named":
						remedy = "because no key of api-keys-file has the rights admin"
					case c.admin == "" && name != "named":
						remedy = "because the server has several API keys but no admin key"
					}
					if got == 403 && (!strings.Contains(string(body), remedy) || !strings.Contains(string(body), "admin_key_required")) {
						t.Errorf("%s with %q: %s, want %q", e.path, key, body, remedy)
					}
				}
			}
			for _, key := range []string{"k-ann", "k-bob", "k-boss", "k-wrong"} {
				if strings.Contains(s.Logs(), key) {
					t.Errorf("the key %s is in the log", key)
				}
			}
		})
	}
}

// With several keys, each client has its own ids: another client may use the same
// one and neither sees nor ends the other's request. The admin ends both.
func TestOthersRequestsCannotBeAborted(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"k-ann", "k-bob"}, AdminAPIKey: "k-boss"}})
	as := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	begin := func(key string) <-chan answer {
		done := make(chan answer, 1)
		go func() {
			done <- send(t, s, "POST", "/generate", object{"text": onceUpon, "rid": "job", "sampling_params": object{"max_new_tokens": 4}}, as(key)...)
		}()
		return done
	}
	abort := func(key string) {
		t.Helper()
		if a := send(t, s, "POST", "/abort_request", object{"rid": "job"}, as(key)...); a.status != 200 {
			t.Fatalf("%d: %s", a.status, a.body)
		}
	}
	wait := func(n float64) {
		t.Helper()
		for metric(t, s, "num_open_reqs", as("k-boss")...) < n {
		}
	}
	s.Hold()
	ann := begin("k-ann")
	wait(1)
	abort("k-bob")
	bob := begin("k-bob")
	wait(2)
	abort("k-bob")
	if a := <-bob; a.status != 200 || !strings.Contains(string(a.body), `"abort"`) {
		t.Errorf("bob's own request: %d %s", a.status, a.body)
	}
	s.Resume()
	if a := <-ann; a.status != 200 || !strings.Contains(string(a.body), `"length"`) {
		t.Errorf("ann's request after bob's aborts: %d %s", a.status, a.body)
	}
	s.WaitIdle(t) // the metric follows the answer
	s.Hold()
	ann = begin("k-ann")
	wait(1)
	abort("k-boss")
	if a := <-ann; a.status != 200 || !strings.Contains(string(a.body), `"abort"`) {
		t.Errorf("ann's request after the admin's abort: %d %s", a.status, a.body)
	}
	s.Resume()
}
