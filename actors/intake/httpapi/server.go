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
	probers            probers
	http               *http.Server
	compilations       compilations
	places, largePlace chan struct{} // for parsing: half of the cores (the device needs some); one large body
	bodies             *budget
	board              board
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
	s.probers.by = map[string]*prober{}
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
	Models  Catalog
	// Gateway says that the models come from the engines of a cluster, so that they may
	// come and go. Then /generate takes a model, and questions to engines take ?model=.
	Gateway bool
	Node    *EngineNode // nil: the server takes requests
	Cluster Cluster     // what operators see and ask for; nil: no such endpoints
	Log     zerolog.Logger
	// Record records an accepted request in a trace and returns what records its end,
	// nil if the request is left out. It does not block. nil: nothing is recorded.
	Record  func(*messages.Submission) (end func(output int))
	Metrics http.Handler             // serves /metrics
	KeyUse  func(name string) KeyUse // the counters of an API key; nil: nothing is counted
	// KeepKeys, if not nil, forgets the counters of all keys but those with these names.
	KeepKeys func(known map[string]bool)
	Info     func() map[string]any // the answer of /server_info
	Seed     func() uint64         // draws a seed for a request without one
	Now      func() time.Time      // for created times and templates
}
