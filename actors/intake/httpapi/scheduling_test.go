package httpapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTenant(t *testing.T) {
	alice, nobody := "alice", ""
	keyed := context.WithValue(t.Context(), trailKey{}, &trail{sender: sender{key: "k1"}})
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
		s := &Server{}
		s.rules.Store(newRules(Options{TenantFrom: tt.from, APIKeys: tt.keys}))
		if got := s.tenant(tt.ctx, tt.user); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNamespaceKeepsItsPartsApart(t *testing.T) {
	s := &Server{}
	s.rules.Store(newRules(Options{}))
	digests := newKeyring(&Options{APIKeys: []string{"k-ann", "k-bob"}})
	seen := map[string]string{}
	long := strings.Repeat("l", maxNamespace+1)
	longDigest := (&scheduling{CacheSalt: long}).namespace("") // a client may know it
	for _, key := range []string{"", "k-ann", "k-bob"} {
		r := httptest.NewRequest("POST", "/generate", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		owner := digests.identify(r).cache
		if len(owner) != map[bool]int{true: 0, false: 64}[key == ""] {
			t.Fatalf("the owner of %q is %q", key, owner)
		}
		ctx := context.WithValue(t.Context(), trailKey{}, &trail{sender: sender{cache: owner}})
		for _, p := range []scheduling{{}, {CacheSalt: "a"}, {CacheSalt: "a", ExtraKey: "bc"}, {CacheSalt: "ab", ExtraKey: "c"},
			{ExtraKey: "a"}, {CacheSalt: "a\x00bc"}, {CacheSalt: "a\x00bc\x002"}, {ExtraKey: "bc\x002"}, {CacheSalt: "\x00a"}, {ExtraKey: "a\x001"}, {CacheSalt: "a", ExtraKey: "\x00bc"}, {CacheSalt: "a\x00", ExtraKey: "bc"},
			{CacheSalt: long}, {CacheSalt: long, ExtraKey: "a"}, {CacheSalt: longDigest}, {ExtraKey: longDigest}, {CacheSalt: long + "a"}} {
			namespace, name := s.submission(ctx, &p).Namespace, fmt.Sprintf("%q with %q and %q", key, p.CacheSalt, p.ExtraKey)
			if other, dup := seen[namespace]; dup {
				t.Errorf("%s and %s share the namespace %q", name, other, namespace)
			}
			seen[namespace] = name
			if len(namespace) > 2*maxNamespace {
				t.Errorf("%.60s: the namespace has %d bytes", name, len(namespace))
			}
		}
	}
	if got := s.submission(t.Context(), &scheduling{CacheSalt: "a"}).Namespace; got != "a" {
		t.Errorf("without an owner the namespace of a salt is %q", got)
	}
}

// Two different triples never have the same name, even if a client writes other
// names or the digests of other keys into salt and extra key.
func TestNamespacesAreInjective(t *testing.T) {
	type triple struct{ owner, salt, extra string }
	rapid.Check(t, func(t *rapid.T) {
		owners := []string{"", strings.Repeat("a", 64), strings.Repeat("0", 64)}
		bits := []string{"", "\x00", "\x00key", "\x00long", strings.Repeat("l", maxNamespace), "a", "0", "1", "\x001", owners[1], owners[2]}
		seen := map[string]triple{}
		for range 30 {
			text := rapid.Custom(func(t *rapid.T) string {
				return strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 4).Draw(t, "parts"), "")
			})
			c := triple{rapid.SampledFrom(owners).Draw(t, "owner"), text.Draw(t, "salt"), text.Draw(t, "extra")}
			space := (&scheduling{CacheSalt: c.salt, ExtraKey: c.extra}).namespace(c.owner)
			if other, met := seen[space]; met && other != c {
				t.Fatalf("%q and %q share %q", c, other, space)
			}
			seen[space] = c
			if len(space) < 200 {
				bits = append(bits, space) // a client may know how names are made
			}
		}
	})
}
