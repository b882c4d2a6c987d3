// Package httpapi is the HTTP adapter of the intake actor: the OpenAI-compatible
// API, SGLang's native one, health, administration and metrics.
//
// A handler turns a body into submissions (template, tokens, parameters), sends
// them to intake and reads the call's events from a channel of its own. It holds
// no engine state. When its client disconnects it tells intake and returns.
package httpapi

import (
	"cmp"
	"net/http"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Options are the settings of the adapter.
type Options struct {
	Host string // address to listen on. Example: "127.0.0.1"
	Port int    // 0 picks a free one. Example: 30000
	// APIKeys are accepted as bearer tokens; none means that anyone may call.
	APIKeys []string
	// AdminAPIKey opens everything, and alone what concerns every client. ""
	// leaves that to the only API key, or to anyone where there is none.
	AdminAPIKey string
	// SharePrefixCache lets senders with different keys, or with a key and
	// without one, use each other's cached prefixes. They can then tell what
	// others have sent, from cached_tokens and from the time that an answer
	// takes. Without effect where all requests have the same key, or none.
	SharePrefixCache bool
	// TenantFrom says whom fair shares go to: TenantAuto, TenantKey or
	// TenantUser. "" means TenantAuto.
	TenantFrom string
	// SpecialTokens says what special tokens in a client's messages are:
	// SpecialTokensText or SpecialTokensParse. "" means SpecialTokensText.
	SpecialTokens string
	// MaxBodyBytes bounds a request's body, hard. Zero means
	// DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// MaxBodiesBytes bounds what bodies may hold at a time, from their first
	// byte to the answer, hard. Zero means four times MaxBodyBytes.
	MaxBodiesBytes int64
	// HeaderTimeout bounds reading the request line and headers, hard. Zero
	// means DefaultHeaderTimeout.
	HeaderTimeout time.Duration
	// BodyTimeout bounds reading a request's body, hard. Zero means 60s.
	BodyTimeout time.Duration
	// BodyRate is how many bytes a second of a body must arrive on average,
	// hard, once BodyGrace is over. Zero means 16 KiB.
	BodyRate int
	// BodyGrace is how long a body may take without that. Zero means 10s.
	BodyGrace time.Duration
	// WriteStall is how long one write to a client may take before its request
	// is aborted, hard. Zero means DefaultWriteStall.
	WriteStall time.Duration
	// HealthTimeout bounds the probe of /health_generate, hard. Zero means
	// DefaultHealthTimeout.
	HealthTimeout time.Duration
	// HealthInterval is the least time between the starts of two probes, hard:
	// those who ask meanwhile share the next one. Zero means 1s.
	HealthInterval time.Duration
	// HealthWaiters is how many may wait for a probe at once, hard; others are
	// told at once that the server is busy. Zero means 8192.
	HealthWaiters int
	// PrepareConcurrency is how many small bodies are parsed and tokenised at
	// once; the others wait. Zero means half of GOMAXPROCS, since the device
	// needs cores too. One large body at a time comes on top.
	PrepareConcurrency int
	// KeepAlive is how often a silent stream of KV events shows that it lives.
	// Zero means 15s.
	KeepAlive time.Duration
	// AllowedHosts are names, without ports, under which clients may address the
	// server, besides the loopback ones; "*" is any. None means any where it
	// listens on more than loopback. Example: "chat.example"
	AllowedHosts []string
	// CORSOrigins may call from a browser; "*" is any. None means no CORS.
	CORSOrigins []string
	// TLSCert and TLSKey are PEM files; both or neither.
	TLSCert, TLSKey string
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
	o.PrepareConcurrency = cmp.Or(o.PrepareConcurrency, max(1, runtime.GOMAXPROCS(0)/2))
	return o
}

// Model is what the edge has to know of the served model. Immutable.
type Model struct {
	ID        string // under which clients ask for it
	Created   int64  // Unix seconds
	Context   int    // tokens of prompt and output together
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil when the model has none that can be used
	// TemplateFault, if not nil, is why the one that it has cannot be used; it
	// names the template's file and the remedy.
	TemplateFault error
	EOS           []int32 // frozen; tokens that end an output
	Defaults      SamplingDefaults
	// Fingerprint, which may be nil, names the numerics of device and weights: equal seeds give
	// equal tokens under equal fingerprints. "" leaves it out of answers.
	Fingerprint func() string
}

// SamplingDefaults hold where a request says nothing.
type SamplingDefaults struct {
	Temperature       float64
	TopP              float64
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

// Deps are what the wiring hands in.
type Deps struct {
	Options Options
	Model   Model
	Engine  Engine
	Log     zerolog.Logger
	// Observe gives a message to the observer of the cache; nil when KV events
	// are off.
	Observe func(messages.ToObserver)
	// Record notes an accepted request for a trace and returns what notes its
	// end, nil if the request is left out. It does not block. nil when nothing
	// is recorded.
	Record func(*messages.Submission) (end func(output int))
	// Full tells whether intake would refuse every new request now, since it
	// would wait too long, and for how long; most is the longest wait that is
	// taken. It is asked before a body is read, so that a refusal under overload
	// costs next to nothing, and counts the refusal. nil: intake alone refuses.
	Full func() (wait, most time.Duration, full bool)
	// Steps is how many steps the engine has computed: a probe that gets no
	// token tells by it whether the engine is busy or hangs.
	Steps   func() float64
	Metrics http.Handler          // serves /metrics
	Info    func() map[string]any // the answer of /server_info
	Seed    func() uint64         // draws a seed for a request without one
	Now     func() time.Time      // for created times and templates
}
