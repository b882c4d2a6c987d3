package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

func (s *Server) readyNow(w http.ResponseWriter, _ *http.Request) *apiError {
	if s.serving.Err() != nil {
		return shuttingDown()
	}
	if !s.Engine.Ready() {
		return unready()
	}
	return respond(w, map[string]string{"status": "ready"})
}

// healthGenerate reports whether a token gets from intake to the device and back.
func (s *Server) healthGenerate(w http.ResponseWriter, r *http.Request) *apiError {
	v, err := s.prober.ask(r.Context())
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

func (s *Server) computeToken(ctx context.Context) verdict {
	limit := s.rules.Load().HealthTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no token within %s (health-timeout)", limit))
	defer cancel()
	params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	var prompt int32
	if bos, ok := s.Model.Tokenizer.BOS(); ok {
		prompt = bos
	}
	s.progress.since(time.Now(), s.Steps())
	c, err := submit(ctx, s.Engine, "", &plan{rid: "health-" + newID(), subs: []messages.Submission{{Prompt: []int32{prompt}, Params: params, After: -1}}})
	if err == nil {
		_, err = c.collect(ctx)
	}
	switch {
	case err == nil:
		return verdict{status: "healthy"}
	case s.progress.since(time.Now(), s.Steps()) < limit:
		return verdict{status: "busy"} // refused or waiting, while others get their tokens
	}
	why := err.Message
	if cause := context.Cause(ctx); cause != nil {
		why = cause.Error()
	}
	s.Log.Warn().Str("cause", clip(why, maxErrorMessage)).Msg("/health_generate: the engine produced no token")
	return verdict{err: newError(http.StatusServiceUnavailable).retry(1).say("the engine is unhealthy: %s; see the log of the server", own(why))}
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
