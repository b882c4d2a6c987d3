package engine

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// cacheLog wraps the core. While the log is at debug level, it reads from the
// messages that pass, for each admitted request, why its prefix was found as far
// as it was, and what was evicted.
type cacheLog struct {
	*radix.Core
	log      zerolog.Logger
	pageSize int
	// found has the last match of requests that were looked up and not admitted
	// yet; at most mostFound.
	found map[messages.RequestID]match
}

// mostFound bounds what is remembered of requests that end without a word to
// the cache.
const mostFound = 4096

type match struct {
	tokens, limit, pages, at int
	end                      messages.MatchEnd
}

func newCacheLog(core *radix.Core, pageSize int, log zerolog.Logger) *cacheLog {
	return &cacheLog{Core: core, log: log, pageSize: pageSize, found: map[messages.RequestID]match{}}
}

// Handle implements shell.Core.
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
		r.committed(m, r.evicted(out))
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

// evicted reads the pages that a step evicted off its readings.
func (r *cacheLog) evicted(out *messages.Outbox) int {
	for _, reading := range out.Readings {
		if reading.Metric == messages.EvictedTokens {
			return int(reading.Value) / r.pageSize
		}
	}
	return 0
}

// committed logs those who got their first pages, and an eviction with all for
// whom it was.
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
