package httpapi

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A request keeps the rules with which it began; the next one has the new ones.
func TestARequestKeepsItsRules(t *testing.T) {
	s := New(Deps{Options: Options{WriteStall: time.Second, MaxBodyBytes: 1}})
	defer s.Drain()
	var stalls []time.Duration
	h := s.withRequestID(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := s.rulesFor(r.Context())
		s.Configure(Options{WriteStall: time.Minute, MaxBodyBytes: 2})
		if s.rulesFor(r.Context()) != before {
			t.Error("a request changed its rules")
		}
		stalls = append(stalls, w.(*recorder).stall)
	}))
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	if len(stalls) != 2 || stalls[0] != time.Second || stalls[1] != time.Minute {
		t.Errorf("writes may take %v, want a second and then a minute", stalls)
	}
	if now := s.rules.Load(); now.MaxBodiesBytes != 8 || s.bodies.total != 8 {
		t.Errorf("all bodies may take %d and %d bytes, want 8", now.MaxBodiesBytes, s.bodies.total)
	}
}

// A server on loopback checks names whatever is configured, before and after it
// listens.
func TestConfigureKeepsTheLoopbackRule(t *testing.T) {
	s := New(Deps{Options: Options{Host: "mybox"}})
	defer s.Drain()
	foreign := httptest.NewRequest("GET", "/", nil)
	foreign.Host = "evil.example"
	s.Configure(Options{AllowedHosts: []string{"a.example"}})
	s.Configure(Options{})
	early := s.rules.Load()
	early.hosts.listens(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	for range 2 {
		if early.hosts.check(foreign) == nil || s.rules.Load().hosts.check(foreign) == nil {
			t.Error("a foreign name is answered")
		}
		s.Configure(Options{})
	}
}

// After a change of keys, each has its own cache; so do senders that were ever
// apart. Another order of the same keys is not a change.
func TestKeysStayApart(t *testing.T) {
	opt := func(keys ...string) Options { return Options{APIKeys: keys} }
	for name, c := range map[string]struct {
		steps []Options
		apart bool
	}{
		"one key":             {[]Options{opt("a"), opt("a")}, false},
		"repeated":            {[]Options{opt("a"), opt("a", "a")}, false},
		"replaced":            {[]Options{opt("a"), opt("b")}, true},
		"replaced and back":   {[]Options{opt("a"), opt("b"), opt("a")}, true},
		"two and then one":    {[]Options{opt("a", "b"), opt("a")}, true},
		"in another order":    {[]Options{opt("a", "b"), opt("b", "a")}, true},
		"an admin key":        {[]Options{opt(), {AdminAPIKey: "x"}}, true},
		"another admin key":   {[]Options{{AdminAPIKey: "x"}, {AdminAPIKey: "y"}}, true},
		"shared":              {[]Options{{SharePrefixCache: true, APIKeys: []string{"a"}}, opt("b")}, false},
		"another option only": {[]Options{opt("a"), {APIKeys: []string{"a"}, MaxBodyBytes: 5}}, false},
	} {
		s := New(Deps{Options: c.steps[0]})
		for _, o := range c.steps[1:] {
			s.Configure(o)
		}
		if got := s.rules.Load().keys.apart; got != c.apart {
			t.Errorf("%s: apart %v, want %v", name, got, c.apart)
		}
		s.Drain()
	}
}
