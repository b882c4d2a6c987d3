package httpapi

import (
	"context"
	"log"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

// Server is the adapter. Its handler is safe for concurrent use.
type Server struct {
	Deps
	rules              atomic.Pointer[rules]
	prober             *prober
	http               *http.Server
	places, largePlace chan struct{} // for parsing: half of the cores (the device needs some); one large body
	bodies             *budget
	progress           progress        // of the engine, as probes see it
	serving            context.Context // done when it drains: streams without an end stop
	drain              context.CancelFunc
}

// New makes an adapter; it does not listen.
func New(deps Deps) *Server {
	opt := newRules(deps.Options)
	s := &Server{Deps: deps, bodies: newBudget(opt.MaxBodiesBytes),
		places: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), largePlace: make(chan struct{}, 1)}
	s.rules.Store(opt)
	s.serving, s.drain = context.WithCancel(context.Background())
	s.prober = &prober{interval: opt.HealthInterval, most: opt.HealthWaiters, serving: s.serving, probe: s.computeToken}
	s.http = &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: opt.HeaderTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // request line and headers
		ErrorLog:          log.New(errorLog{s.Log, s.Log.Sample(&zerolog.BurstSampler{Burst: 1, Period: time.Second})}, "", 0),
	}
	return s
}

// Drain makes /readyz and /health answer 503 from now on and ends endless streams.
func (s *Server) Drain() { s.drain() }

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
