package httpapi

import (
	"cmp"
	"context"
	"time"
)

// Options are the adapter's settings. Limits are hard. Zero means the default in brackets.
type Options struct {
	Host    string   // address to listen on. Example: "127.0.0.1"
	Port    int      // 0 picks a free one. Example: 30000
	APIKeys []string // accepted as bearer tokens; without any, all clients may call
	// AdminAPIKey allows everything and is required for operations that affect all clients.
	// "": the only API key has that role or, without API keys, every client.
	AdminAPIKey string
	// Keys are API keys with names and rights. If there are any, a key is required, and
	// their rights alone decide who is an administrator. Names and digests differ.
	Keys []Key
	// SharePrefixCache lets senders with different keys, or with a key and without one,
	// use each other's cached prefixes. They can then detect what others have sent from
	// cached_tokens and response times. Without effect if all have the same key, or none.
	SharePrefixCache bool
	TenantFrom       string // TenantAuto, TenantKey or TenantUser (TenantAuto)
	UnknownFields    string // UnknownFieldsWarn or UnknownFieldsRefuse (UnknownFieldsWarn)
	SpecialTokens    string // how those in messages are read: SpecialTokensText or SpecialTokensParse (SpecialTokensText)
	// MaxBodyBytes bounds a body (DefaultMaxBodyBytes), MaxBodiesBytes the memory of
	// all bodies from their first byte to the answer (four times MaxBodyBytes).
	MaxBodyBytes, MaxBodiesBytes int64
	// HeaderTimeout bounds reading the request line and headers
	// (DefaultHeaderTimeout), BodyTimeout reading the body (60s).
	HeaderTimeout, BodyTimeout time.Duration
	BodyRate                   int           // least average rate of a body in bytes per second (16 KiB) after BodyGrace
	BodyGrace                  time.Duration // (10s)
	WriteStall                 time.Duration // for one write to a client; then its request is aborted (DefaultWriteStall)
	// HealthTimeout bounds the probe of /health_generate (DefaultHealthTimeout),
	// HealthInterval is the least time between the starts of two (1s), and HealthWaiters
	// bounds the clients that wait for one (8192); others get the answer busy.
	HealthTimeout, HealthInterval time.Duration
	HealthWaiters                 int
	KeepAlive                     time.Duration // period of comments in a stream that has begun and is silent, and in one of KV events (15s)
	// AllowedHosts are names, without ports, under which clients may address the
	// server, besides the loopback ones; "*" allows all. Without any, a server that
	// does not listen on loopback allows all. Example: "chat.example"
	AllowedHosts    []string
	CORSOrigins     []string // may call from a browser; "*" allows all. None: no CORS
	TLSCert, TLSKey string   // PEM files; both or neither
}

// Defaults of the options that are settings of the server.
const (
	DefaultMaxBodyBytes  = 64 << 20
	DefaultHeaderTimeout = 10 * time.Second
	DefaultWriteStall    = 30 * time.Second
	DefaultHealthTimeout = 20 * time.Second
)

func (o Options) withDefaults() Options {
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, DefaultMaxBodyBytes)
	o.MaxBodiesBytes = cmp.Or(o.MaxBodiesBytes, 4*o.MaxBodyBytes)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 60*time.Second)
	o.BodyRate = cmp.Or(o.BodyRate, 16<<10)
	o.BodyGrace = cmp.Or(o.BodyGrace, 10*time.Second)
	o.WriteStall = cmp.Or(o.WriteStall, DefaultWriteStall)
	o.HealthTimeout = cmp.Or(o.HealthTimeout, DefaultHealthTimeout)
	o.HealthInterval = cmp.Or(o.HealthInterval, time.Second)
	o.HealthWaiters = cmp.Or(o.HealthWaiters, 8192)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	return o
}

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
	next.Keys = o.Keys
	next.APIKeys, next.AdminAPIKey, next.AllowedHosts, next.CORSOrigins = o.APIKeys, o.AdminAPIKey, o.AllowedHosts, o.CORSOrigins
	next.UnknownFields = o.UnknownFields
	next.MaxBodyBytes, next.WriteStall, next.HealthTimeout = o.MaxBodyBytes, o.WriteStall, o.HealthTimeout
	old, now := s.rules.Load(), newRules(next)
	now.hosts.loopback = old.hosts.loopback
	now.keys.follow(old.keys, now.SharePrefixCache)
	s.bodies.resize(now.MaxBodiesBytes)
	s.rules.Store(now)
	if s.KeepKeys != nil {
		known := map[string]bool{}
		for _, name := range now.keys.names {
			known[name] = true
		}
		s.KeepKeys(known)
	}
}

// rulesFor are the rules of a request.
func (s *Server) rulesFor(ctx context.Context) *rules {
	return cmp.Or(trailOf(ctx).rules, s.rules.Load())
}
