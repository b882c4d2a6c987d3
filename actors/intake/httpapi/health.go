package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

func (s *Server) readyNow(w http.ResponseWriter, _ *http.Request) *apiError {
	if s.serving.Err() != nil {
		return shuttingDown()
	}
	if err := s.outOfService(); err != nil {
		return err
	}
	all := s.Models.All()
	switch {
	case slices.ContainsFunc(all, func(m *Served) bool { return m.Engine != nil && m.Engine.Ready() }):
		return respond(w, map[string]string{"status": "ready"})
	case len(all) == 0:
		return noModels()
	}
	return unready()
}

// healthGenerate reports whether a token gets from intake to the device and back.
func (s *Server) healthGenerate(w http.ResponseWriter, r *http.Request) *apiError {
	prober, e := s.prober(s.modelIn(r.URL.Query()))
	if e != nil {
		return e
	}
	v, err := prober.ask(r.Context())
	switch {
	case errors.Is(err, errCrowded):
		// A supervisor must not restart a full server.
		w.Header().Set("Retry-After", "1")
		v.status = "busy"
	case errors.Is(err, errClosed):
		return shuttingDown()
	case err != nil:
		return clientGone(r.Context(), nil)
	case v.err != nil:
		return v.err
	}
	return respond(w, map[string]string{"status": v.status})
}

// probers are the probers of /health_generate: one for all models, and one for each model
// that a client has named in ?model=.
type probers struct {
	mu sync.Mutex // handlers run beside each other; held for a few assignments
	by map[string]*prober
}

// prober returns the prober of a model, or of all models without a name.
func (s *Server) prober(name string) (*prober, *apiError) {
	if name != "" {
		if _, err := s.find(name); err != nil {
			return nil, err
		}
	}
	s.probers.mu.Lock()
	defer s.probers.mu.Unlock()
	if p := s.probers.by[name]; p != nil {
		return p, nil
	}
	// Names that are not served any more would add up.
	maps.DeleteFunc(s.probers.by, func(old string, _ *prober) bool { return old != "" && s.Models.Find(old) == nil })
	rules, seen := s.rules.Load(), progresses{}
	p := &prober{interval: rules.HealthInterval, most: rules.HealthWaiters, serving: s.serving,
		probe: func(ctx context.Context) verdict { return s.probe(ctx, name, seen) }}
	s.probers.by[name] = p
	return p, nil
}

// errAnswered ends the probes of the other models when one has computed a token.
var errAnswered = errors.New("another model has answered")

// probe has a model compute a token or, without a name, all models at once: as for
// /readyz, one that works is enough.
func (s *Server) probe(ctx context.Context, name string, seen progresses) verdict {
	models, err := s.addressed(name)
	if err != nil {
		return verdict{err: err}
	}
	if len(models) == 1 {
		return s.computeToken(ctx, models[0], seen.of(models)[0])
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	verdicts := make(chan verdict, len(models))
	for i, p := range seen.of(models) {
		go func() { verdicts <- s.computeToken(ctx, models[i], p) }()
	}
	best := <-verdicts
	for range len(models) - 1 {
		if best.status == "healthy" {
			end(errAnswered)
		}
		if v := <-verdicts; v.better(best) {
			best = v
		}
	}
	return best
}

// better prefers healthy to busy, and busy to an error.
func (v verdict) better(than verdict) bool {
	return v.err == nil && (than.err != nil || v.status == "healthy")
}

func (s *Server) computeToken(ctx context.Context, m *Served, seen *progress) verdict {
	limit := s.rules.Load().HealthTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no token within %s (health-timeout)", limit))
	defer cancel()
	params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	var prompt int32
	if bos, ok := m.Model.Tokenizer.BOS(); ok {
		prompt = bos
	}
	seen.since(time.Now(), m.Steps())
	c, err := submit(ctx, m.Engine, "", &plan{rid: "health-" + newID(), subs: []messages.Submission{{Prompt: []int32{prompt}, Params: params, After: -1}}})
	if err == nil {
		_, err = c.collect(ctx)
	}
	switch {
	case err == nil:
		return verdict{status: "healthy"}
	case seen.since(time.Now(), m.Steps()) < limit, context.Cause(ctx) == errAnswered:
		return verdict{status: "busy"} // refused or waiting, while others get their tokens
	}
	why := err.Message
	if cause := context.Cause(ctx); cause != nil {
		why = cause.Error()
	}
	e := newError(http.StatusServiceUnavailable).retry(1)
	line := s.Log.Warn().Str("cause", clip(why, maxErrorMessage))
	if s.Gateway {
		line = line.Str("model", m.Model.ID)
		e.say("the model %s is unhealthy: %s; see the log of the server", own(m.Model.ID), own(why))
	} else {
		e.say("the engine is unhealthy: %s; see the log of the server", own(why))
	}
	line.Msg("/health_generate: the engine produced no token")
	return verdict{err: e}
}

// progresses are those of the models' engines, by name.
type progresses map[string]*progress

// of returns the progress of each model and forgets other models.
func (p progresses) of(models []*Served) []*progress {
	all := make([]*progress, len(models))
	for i, m := range models {
		if all[i] = p[m.Model.ID]; all[i] == nil {
			all[i] = &progress{}
		}
	}
	clear(p)
	for i, m := range models {
		p[m.Model.ID] = all[i]
	}
	return all
}

// progress is the engine's last step. One probe at a time uses it.
type progress struct {
	steps float64
	seen  time.Time // the zero time before the first look
}

// since returns how long the engine has completed no step. A full engine completes
// some: a supervisor must restart a server that hangs, and no other.
func (p *progress) since(now time.Time, steps float64) time.Duration {
	if p.seen.IsZero() || steps != p.steps {
		p.steps, p.seen = steps, now
	}
	return now.Sub(p.seen)
}
