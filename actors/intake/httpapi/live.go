package httpapi

import (
	"cmp"
	"context"
	"maps"
)

// rules are the current options and what follows from them. Immutable: Configure
// makes new ones, and a request uses those with which it began.
type rules struct {
	Options
	keys  *keyring
	hosts *hostRule
}

func newRules(o Options) *rules {
	o = o.withDefaults()
	return &rules{o, newKeyring(&o), newHostRule(o.Host, o.AllowedHosts)}
}

// Configure replaces the options that can change while the server runs:
// APIKeys, AdminAPIKey, AllowedHosts, CORSOrigins, MaxBodyBytes, WriteStall and
// HealthTimeout. Requests that have begun keep the old ones. It is not safe for
// concurrent use with itself.
func (s *Server) Configure(o Options) {
	next := s.Options
	next.APIKeys, next.AdminAPIKey, next.AllowedHosts, next.CORSOrigins = o.APIKeys, o.AdminAPIKey, o.AllowedHosts, o.CORSOrigins
	next.MaxBodyBytes, next.WriteStall, next.HealthTimeout = o.MaxBodyBytes, o.WriteStall, o.HealthTimeout
	old, now := s.rules.Load(), newRules(next)
	now.hosts.loopback = old.hosts.loopback
	now.keys.follow(old.keys, now.SharePrefixCache)
	s.bodies.resize(now.MaxBodiesBytes)
	s.rules.Store(now)
}

// rulesFor are the rules of a request.
func (s *Server) rulesFor(ctx context.Context) *rules {
	return cmp.Or(trailOf(ctx).rules, s.rules.Load())
}

// follow hides from new keys what old keys have cached: after any change each key
// has its own cache, because the common one has prefixes of former senders.
func (k *keyring) follow(old *keyring, share bool) {
	same := maps.Equal(k.users, old.users) && maps.Equal(k.admin, old.admin)
	k.apart = !share && (k.apart || old.apart || !same)
}
