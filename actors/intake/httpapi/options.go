// Package httpapi is the HTTP adapter of the intake actor: the OpenAI-compatible
// API, SGLang's native one, health, administration and metrics.
//
// A handler turns a body into submissions (template, tokens, parameters), sends
// them to intake and reads the call's events from its own channel. It holds no engine
// state. When its client disconnects, it sends that to intake and returns.
package httpapi

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Options are the settings of the adapter. Limits are hard. Zero means the default
// that is given in brackets.
type Options struct {
	Host string // address to listen on. Example: "127.0.0.1"
	Port int    // 0 picks a free one. Example: 30000
	// APIKeys are accepted as bearer tokens; without any, all clients may call.
	APIKeys []string
	// AdminAPIKey allows everything and is required for operations that affect all clients.
	// "": the only API key has that role or, without API keys, every client.
	AdminAPIKey string
	// SharePrefixCache lets senders with different keys, or with a key and without
	// one, use each other's cached prefixes. They can then detect what others have
	// sent from cached_tokens and from response times. It has no effect if all
	// requests have the same key, or none.
	SharePrefixCache bool
	TenantFrom       string // TenantAuto, TenantKey or TenantUser (TenantAuto)
	// SpecialTokens is how special tokens in a client's messages are read:
	// SpecialTokensText or SpecialTokensParse (SpecialTokensText).
	SpecialTokens string
	// MaxBodyBytes bounds a body (DefaultMaxBodyBytes), MaxBodiesBytes the memory of
	// all bodies from their first byte to the answer (four times MaxBodyBytes).
	MaxBodyBytes, MaxBodiesBytes int64
	// HeaderTimeout bounds reading the request line and headers
	// (DefaultHeaderTimeout), BodyTimeout reading the body (60s).
	HeaderTimeout, BodyTimeout time.Duration
	// BodyRate is the least average rate of a body in bytes per second (16 KiB)
	// after the first BodyGrace (10s).
	BodyRate  int
	BodyGrace time.Duration
	// WriteStall is how long one write to a client may take before its request is
	// aborted (DefaultWriteStall).
	WriteStall time.Duration
	// HealthTimeout bounds the probe of /health_generate (DefaultHealthTimeout),
	// HealthInterval is the least time between the starts of two (1s), and HealthWaiters
	// bounds the clients that wait for one (8192); others get the answer busy.
	HealthTimeout, HealthInterval time.Duration
	HealthWaiters                 int
	KeepAlive                     time.Duration // period of comments in a stream of KV events (15s)
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

// Model is the served model. Immutable.
type Model struct {
	ID        string // its name in the API
	Created   int64  // Unix seconds
	Context   int    // tokens of prompt and output together
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil when the model has none that can be used
	// TemplateFault, if not nil, is why the model's template cannot be used; it names
	// the template's file and the remedy.
	TemplateFault error
	EOS           []int32 // frozen; tokens that end an output
	Defaults      SamplingDefaults
	// Fingerprint, which may be nil, names the numerics of device and weights: equal
	// seeds produce equal tokens under equal fingerprints. "" leaves it out of answers.
	Fingerprint func() string
}

// SamplingDefaults are the values of parameters that a request leaves out.
type SamplingDefaults struct {
	Temperature, TopP float64
	TopK              int
	MinP              float64
	RepetitionPenalty float64
}

// OpenAIDefaults are those of the API's description.
var OpenAIDefaults = SamplingDefaults{Temperature: 1, TopP: 1, RepetitionPenalty: 1}

// Engine is the way to intake.
type Engine interface {
	Send(msg messages.ToIntake)
	Ready() bool
}

// Deps are what the wiring passes in.
type Deps struct {
	Options Options
	Model   Model
	Engine  Engine
	Log     zerolog.Logger
	Observe func(messages.ToObserver) // sends to the observer of the cache; nil: KV events are off
	// Record records an accepted request in a trace and returns what records its end,
	// nil if the request is left out. It does not block. nil: nothing is recorded.
	Record func(*messages.Submission) (end func(output int))
	// Full reports whether intake would refuse every new request now, because it would
	// wait longer than most. It is called before a body is read, so that a refusal
	// costs very little, and counts the refusal. nil: intake alone refuses.
	Full    func() (wait, most time.Duration, full bool)
	Steps   func() float64        // steps computed by the engine: a probe without a token tells busy from hung by it
	Metrics http.Handler          // serves /metrics
	Info    func() map[string]any // the answer of /server_info
	Seed    func() uint64         // draws a seed for a request without one
	Now     func() time.Time      // for created times and templates
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
