package httpapi

import (
	"context"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestTenant(t *testing.T) {
	alice, nobody := "alice", ""
	keyed := context.WithValue(t.Context(), trailKey{}, &trail{key: "k1"})
	for _, tt := range []struct {
		name string
		from string
		keys []string
		ctx  context.Context
		user *string
		want string
	}{
		{"auto without keys is the user", TenantAuto, nil, keyed, &alice, digest([]byte(alice))},
		{"auto with keys is the key", "", []string{"secret"}, keyed, &alice, "k1"},
		{"user though there are keys", TenantUser, []string{"secret"}, keyed, &alice, digest([]byte(alice))},
		{"key", TenantKey, []string{"secret"}, keyed, nil, "k1"},
		{"no user", TenantUser, nil, keyed, nil, ""},
		{"empty user", TenantUser, nil, keyed, &nobody, ""},
	} {
		s := &Server{opt: Options{TenantFrom: tt.from, APIKeys: tt.keys}}
		if got := s.tenant(tt.ctx, tt.user); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNamespaceKeepsItsPartsApart(t *testing.T) {
	s := &Server{}
	seen := map[string]scheduling{}
	for _, p := range []scheduling{{}, {CacheSalt: "a"}, {CacheSalt: "a", ExtraKey: "bc"}, {CacheSalt: "ab", ExtraKey: "c"},
		{ExtraKey: "a"}, {CacheSalt: "a\x00bc"}, {CacheSalt: "a\x00bc\x002"}, {ExtraKey: "bc\x002"}, {CacheSalt: "\x00a"}, {ExtraKey: "a\x001"}, {CacheSalt: "a", ExtraKey: "\x00bc"}, {CacheSalt: "a\x00", ExtraKey: "bc"}} {
		namespace := s.submission(t.Context(), &p, nil).Namespace
		if other, dup := seen[namespace]; dup {
			t.Errorf("%+v and %+v share the namespace %q", p, other, namespace)
		}
		seen[namespace] = p
	}
}

func TestFinishErrorsByKind(t *testing.T) {
	for kind, want := range map[messages.RefusalKind]struct {
		status, retry int
		code          string
	}{
		0:                        {500, 0, "generation_failed"},
		messages.RefusedBusy:     {429, 7, "rate_limit_exceeded"},
		messages.RefusedTimeout:  {503, 7, "request_timeout"},
		messages.RefusedDraining: {503, 7, "shutting_down"},
	} {
		e := finishError(&messages.Finish{Reason: messages.FinishError, Message: "why", Kind: kind, RetryAfterSeconds: 7})
		if e.Status != want.status || e.RetryAfter != want.retry || e.Code != want.code || e.Message != "why" {
			t.Errorf("kind %d gives %+v", kind, e)
		}
	}
}
