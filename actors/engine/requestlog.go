package engine

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
)

// The request log: while the log is at debug level, formerLog and cacheLog read from the
// messages of the cores that they wrap what happens to each request in an epoch.

// debug reports whether debug lines are written now: the level can change at any time.
func debug(log *zerolog.Logger) bool {
	e := log.Debug()
	e.Discard() // it is not sent
	return e != nil
}

// formerLog logs the end of each request.
type formerLog struct {
	*former.Core
	log    zerolog.Logger
	trails map[messages.RequestID]*trail // of requests that were admitted
	missed bool                          // the log was at another level before, so trails lacks some
	token  *atomic.Bool                  // set at the epoch's first token
}

// trail is what happened to one request in the epoch.
type trail struct {
	request  *messages.EngineRequest
	admitted time.Duration // the first time
	opened   int           // how often it got a row
	cached   int           // prompt tokens, at the first prefill
	tokens   int           // sampled in this epoch
	first    time.Duration // when the first of them came
}

func (r *formerLog) Handle(now time.Duration, msg messages.ToFormer, out *messages.Outbox) {
	r.Core.Handle(now, msg, out)
	if !r.token.Load() {
		for _, s := range out.Sends {
			if m, ok := s.Msg.(*messages.StepResults); ok && len(m.Tokens) > 0 {
				r.token.Store(true)
			}
		}
	}
	if !debug(&r.log) {
		clear(r.trails)
		r.missed = true
		return
	}
	for _, s := range out.Sends {
		switch m := s.Msg.(type) {
		case *messages.RunBatch:
			for _, o := range m.Opened {
				t := r.trails[o.Request.ID]
				if t == nil {
					t = &trail{request: o.Request, admitted: now}
					r.trails[o.Request.ID] = t
				}
				t.opened++
			}
		case *messages.StepResults:
			r.results(now, m)
		}
	}
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

// ended writes the line, with a time to first token if that came in this epoch.
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

// cacheLog logs for each admitted request how much of its prefix was cached and why the
// match ended there, and what was evicted.
type cacheLog struct {
	*radix.Core
	log      zerolog.Logger
	pageSize int
	// found has the last match of requests that were looked up and not admitted yet; at
	// most mostFound, because the cache does not learn of requests that end before.
	found map[messages.RequestID]match
}

const mostFound = 4096

type match struct {
	tokens, limit, pages, at int
	end                      messages.MatchEnd
}

func (r *cacheLog) Handle(now time.Duration, msg messages.ToCache, out *messages.Outbox) {
	on := debug(&r.log)
	r.Explain(on)
	r.Core.Handle(now, msg, out)
	if !on {
		clear(r.found)
		return
	}
	switch m := msg.(type) {
	case *messages.LockPrefixes:
		for _, s := range out.Sends {
			if reply, ok := s.Msg.(*messages.PrefixesLocked); ok {
				r.looked(m, reply)
			}
		}
	case *messages.CommitPlan:
		evicted := 0
		for _, reading := range out.Readings {
			if reading.Metric == messages.EvictedTokens {
				evicted = int(reading.Value) / r.pageSize
			}
		}
		r.committed(m, evicted)
	}
}

func (r *cacheLog) looked(m *messages.LockPrefixes, reply *messages.PrefixesLocked) {
	if len(r.found)+len(reply.Matches) > mostFound {
		clear(r.found)
	}
	for i, found := range reply.Matches {
		p := &m.Prefixes[i]
		r.found[found.ID] = match{tokens: len(p.Tokens), limit: p.Limit, pages: len(found.Pages), at: found.EndAt, end: found.End}
	}
}

// committed logs requests that got their first pages, and evictions with their requests.
func (r *cacheLog) committed(m *messages.CommitPlan, evicted int) {
	reserved, ids := 0, make([]uint64, len(m.Reserves))
	for i, want := range m.Reserves {
		reserved += want.Pages
		ids[i] = uint64(want.ID)
	}
	if evicted > 0 {
		r.log.Debug().Uint64("plan", uint64(m.Plan)).Int("evicted_pages", evicted).Int("reserved_pages", reserved).
			Uints64("requests", ids).Msg("pages evicted")
	}
	for _, want := range m.Reserves {
		found, ok := r.found[want.ID]
		if !ok {
			continue
		}
		delete(r.found, want.ID)
		r.log.Debug().Uint64("request", uint64(want.ID)).Int("tokens", found.tokens).Int("cached_tokens", found.pages*r.pageSize).
			Int("may_match", found.limit).Str("why", string(found.end)).Int("at_token", found.at).
			Int("reserved_pages", want.Pages).Int("evicted_pages", evicted).Int("for_requests", len(m.Reserves)).Msg("prefix looked up")
	}
}
