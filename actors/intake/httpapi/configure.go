package httpapi

import (
	"cmp"
	"context"
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

// Configure replaces the options that can change while the server runs: those that it
// copies. Requests that have begun keep the old ones. Calls must not overlap.
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
