package engine

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
)

// formerLog wraps the core. While the log is at debug level, it reads from the
// messages that pass what becomes of each request in this epoch.
type formerLog struct {
	*former.Core
	log    zerolog.Logger
	trails map[messages.RequestID]*trail // of requests that were admitted
	missed bool                          // the log was at another level before, so trails lacks some
}

// debug reports whether lines of debug level are written at the moment: the level
// can change while the engine runs.
func debug(log *zerolog.Logger) bool {
	e := log.Debug()
	e.Discard() // it is not sent
	return e != nil
}

// trail is one request's way through the epoch.
type trail struct {
	request  *messages.EngineRequest
	admitted time.Duration // the first time
	opened   int           // how often it got a row
	cached   int           // prompt tokens, at the first prefill
	tokens   int           // sampled in this epoch
	first    time.Duration // when the first of them came
}

func newFormerLog(core *former.Core, log zerolog.Logger) *formerLog {
	return &formerLog{Core: core, log: log, trails: map[messages.RequestID]*trail{}}
}

// Handle implements shell.Core.
func (r *formerLog) Handle(now time.Duration, msg messages.ToFormer, out *messages.Outbox) {
	r.Core.Handle(now, msg, out)
	if !debug(&r.log) {
		clear(r.trails)
		r.missed = true
		return
	}
	for _, s := range out.Sends {
		switch m := s.Msg.(type) {
		case *messages.RunBatch:
			for i := range m.Opened {
				r.opened(now, m.Opened[i].Request)
			}
		case *messages.StepResults:
			r.results(now, m)
		}
	}
}

func (r *formerLog) opened(now time.Duration, request *messages.EngineRequest) {
	t := r.trails[request.ID]
	if t == nil {
		t = &trail{request: request, admitted: now}
		r.trails[request.ID] = t
	}
	t.opened++
}

func (r *formerLog) results(now time.Duration, m *messages.StepResults) {
	for _, p := range m.Prompts {
		if t := r.trails[p.ID]; t != nil {
			t.cached = p.CachedTokens
		}
	}
	for _, token := range m.Tokens {
		if t := r.trails[token.ID]; t != nil {
			if t.tokens++; t.tokens == 1 {
				t.first = now
			}
		}
	}
	for _, end := range m.Ended {
		r.ended(now, end)
		delete(r.trails, end.ID)
	}
}

// ended writes the line. The time to the first token is that of a request which
// had none before this epoch.
func (r *formerLog) ended(now time.Duration, end messages.RequestEnded) {
	e := r.log.Debug().Uint64("request", uint64(end.ID)).Str("reason", end.Reason.String())
	t := r.trails[end.ID]
	if t == nil {
		if r.missed {
			e.Msg("request ended")
		} else {
			e.Msg("request ended before it was admitted")
		}
		return
	}
	e = e.Int("prompt_tokens", len(t.request.Prompt)).Int("output_tokens", len(t.request.Output)+t.tokens).Int("cached_tokens", t.cached).
		Int("retractions", t.opened-1).Dur("queue_ms", t.admitted-t.request.Arrived).Dur("took_ms", now-t.request.Arrived)
	if t.tokens > 0 && len(t.request.Output) == 0 {
		e = e.Dur("ttft_ms", t.first-t.request.Arrived)
	}
	e.Msg("request ended")
}
