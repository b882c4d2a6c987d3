package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/actors/shell"
)

// Server is the adapter. Its handler is safe for concurrent use.
type Server struct {
	Deps
	rules  atomic.Pointer[rules]
	prober *prober
	http   *http.Server
	// places are for parsing and tokenising small bodies: half of the cores, because the
	// device also needs some. largePlace is for one large body.
	places, largePlace chan struct{}
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
	s.prober = newProber(s.serving, opt.HealthInterval, opt.HealthWaiters, s.computeToken)
	s.http = &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: opt.HeaderTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // request line and headers
		ErrorLog:          log.New(errorLog{s.Log}, "", 0),
	}
	return s
}

// Drain makes /readyz and /health answer 503 from now on and ends endless streams.
func (s *Server) Drain() { s.drain() }

// answer writes the error of a handler, or of its panic, which ends only its request. An
// answer that cannot be completed ends its connection, so that it does not look whole.
func (s *Server) answer(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 { // not for requests of foreign origins
			trailOf(r.Context()).route = r.Pattern[slash:]
		}
		err := s.guarded(handle, w, r)
		if err == nil {
			return
		}
		trailOf(r.Context()).err = err
		switch {
		case err.Status == statusStreamed:
		case begun(w) || err.Status == statusClientGone:
			panic(http.ErrAbortHandler)
		default:
			writeError(w, err)
		}
	}
}

func (s *Server) guarded(handle handler, w http.ResponseWriter, r *http.Request) (err *apiError) {
	defer func() {
		if p := recover(); p != nil {
			id := trailOf(r.Context()).id
			s.Log.Error().Str("panic", shell.Fault(p)).Str("request_id", id).Str("stack", string(debug.Stack())).Msg("bug in the server: a handler panicked; please report it. Other requests are not affected")
			err = internal("a handler panicked; the id of this request is %s", own(id))
		}
	}()
	return handle(w, r)
}

// checkModel accepts the served model's name and no name at all.
func (s *Server) checkModel(name string) *apiError {
	if name == "" || name == s.Model.ID {
		return nil
	}
	return newError(http.StatusNotFound).coded("model_not_found").about("model").
		say("the model %q is not served here; this server has %q", clip(name, 128), own(s.Model.ID))
}

// newID is 96 random bits as hex.
func newID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// given is the value of an optional parameter.
func given[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
