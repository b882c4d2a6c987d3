package former

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// maxCandidates bounds the requests of one offer, and with it the prefixes that
// are locked in vain when few of them fit.
const maxCandidates = 64

// blockade remembers why the head of all who wait was refused for memory, so
// that it is not asked for and matched again at every step. It ends with any
// release of a lease and with the head's own end; room also grows while the
// ratio decays.
type blockade struct {
	head messages.RequestID
	need int // pages
}

// wantsCandidates reports whether somebody who waits might be admitted now.
func (f *Core) wantsCandidates() bool {
	switch {
	case len(f.retracted) == 0 && !f.mayWait, f.plan.retracted:
		return false
	case f.rows.Free() == 0 && (len(f.running) == 0 || !f.mayPreempt()):
		return false
	case f.making != 0 && len(f.running) > 0:
		return false
	case len(f.running) == 0:
		return true
	case f.alone():
		return false
	}
	return f.admits() || f.mayPreempt()
}

// admits reports whether there is a row, and room for the one that was refused.
func (f *Core) admits() bool {
	return f.rows.Free() > 0 && (f.blocked.need == 0 || f.blocked.need <= f.room())
}

// occupied is how many sequences take part in steps to come.
func (f *Core) occupied() int { return len(f.running) - f.leaving }

// alone reports whether a request that tolerates no other one runs.
func (f *Core) alone() bool {
	for _, s := range f.running {
		if s.alone() {
			return true
		}
	}
	return false
}

// askCandidates starts an admission: with the retracted sequences, which are
// ahead of everybody of their rank, or else with the head of the queue.
func (f *Core) askCandidates(now time.Duration, out *messages.Outbox) (again bool) {
	limit := f.offerLimit()
	if !f.admits() {
		limit = 1 // who may preempt
	}
	if len(f.retracted) == 0 || f.making != 0 || f.mayPreempt() {
		out.ToQueue(&messages.OfferCandidates{Plan: f.plan.id, Limit: limit})
		f.become(offering)
		return false
	}
	f.considerAll(nil)
	return f.lockPrefixes(now, out)
}

func (f *Core) candidatesOffered(now time.Duration, m *messages.CandidatesOffered, out *messages.Outbox) {
	f.must(f.phase == offering && m.Plan == f.plan.id, "CandidatesOffered")
	f.mayWait = m.Waiting > 0
	requests := m.Requests
	if f.making != 0 {
		at := slices.IndexFunc(requests, func(r *messages.EngineRequest) bool { return r.ID == f.making })
		if at < 0 {
			f.making = 0 // it has ended, or others have gone before it
		} else {
			requests = requests[at : at+1] // whoever made place comes back after it
		}
	}
	if f.making == 0 && len(f.retracted) > 0 && !f.opt.PriorityPreemption {
		requests = nil
	}
	f.considerAll(requests)
	f.lockPrefixes(now, out)
}

// considerAll makes candidates of those who come back and of the head of the
// queue, in order of rank, up to the first who finds no room. Whoever wants to
// be alone goes before all who made place.
func (f *Core) considerAll(offered []*messages.EngineRequest) {
	f.age()
	limit := max(1, min(f.rows.Free(), maxCandidates))
	back := f.retracted[:min(limit, len(f.retracted))]
	if f.making != 0 {
		back = nil
	}
	room := f.room()
	f.waiting = 0
	f.findFillers()
	defer f.forgetFillers()
	for len(f.plan.candidates) < limit {
		s := f.nextToConsider(&back, &offered)
		if s == nil {
			return
		}
		if s.state == candidate {
			f.checkRequest(s)
			if f.waitsForPrefix(s) {
				f.waiting++
				continue
			}
		}
		if !f.consider(s, &room) {
			return
		}
	}
}

// consider makes a sequence a candidate unless not even the least that it may
// need is left of room. Then nobody behind it is one either, and no prefix is
// locked in vain.
func (f *Core) consider(s *sequence, room *int) bool {
	need, head := f.leastNeed(s), len(f.plan.candidates) == 0
	if f.blocked.head == s.req.ID {
		need = max(need, f.blocked.need) // known since its prefix was looked up
	}
	if (need > *room || f.rows.Free() == 0) && !(head && len(f.running) == 0) {
		if head && need > *room {
			f.blocked = blockade{s.req.ID, need}
		}
		if !head || !f.considerPreemption(s, need-*room) {
			return false
		}
	}
	*room -= need
	f.plan.candidates = append(f.plan.candidates, planCandidate{seq: s})
	return true
}

// checkRequest fails on what intake must have refused: it would starve.
func (f *Core) checkRequest(s *sequence) {
	invariants.Check(f.byID[s.req.ID] == nil, "request %d is offered twice", s.req.ID)
	invariants.Check(s.left(f.opt.ContextLength) >= 1 && s.pagesAfter(1, f.opt.PageSize) <= f.opt.Pages,
		"request %d of %d tokens, %d of them output, cannot go on: max_tokens %d, context %d, pool of %d pages",
		s.req.ID, len(s.tokens), s.output(), s.req.Params.MaxTokens, f.opt.ContextLength, f.opt.Pages)
}

// lockPrefixes asks the cache for the candidates' prefixes, unless it is known
// that nothing matches.
func (f *Core) lockPrefixes(now time.Duration, out *messages.Outbox) (again bool) {
	if f.opt.CacheDisabled || len(f.plan.candidates) == 0 {
		f.admit(make([]messages.PrefixLocked, len(f.plan.candidates)), out)
		return f.commit(now, out)
	}
	m := &messages.LockPrefixes{Plan: f.plan.id, Prefixes: make([]messages.PrefixLock, len(f.plan.candidates))}
	for i := range f.plan.candidates {
		s := f.plan.candidates[i].seq
		m.Prefixes[i] = messages.PrefixLock{ID: s.req.ID, Namespace: s.req.Namespace, Tokens: s.tokens[:len(s.tokens):len(s.tokens)], Limit: s.matchLimit()}
	}
	out.ToCache(m)
	f.become(locking)
	return false
}

func (f *Core) prefixesLocked(now time.Duration, m *messages.PrefixesLocked, out *messages.Outbox) {
	f.must(f.phase == locking && m.Plan == f.plan.id && len(m.Matches) == len(f.plan.candidates), "PrefixesLocked")
	f.cached = m.Cached
	f.admit(m.Matches, out)
	f.commit(now, out)
}

// admit decides who of the candidates runs, in order, up to the first refusal;
// nobody overtakes, except that those who wait for a prefix let others by, to
// their own advantage. matches are theirs; the counters are those after locking.
//
// The charge is SGLang's (PrefillAdder.add_one_req): what must be computed plus
// the expected output, in whole pages, against what is left of free and
// evictable pages when everybody who runs gets the output expected of it. A
// request with nobody beside it is always admitted: intake refuses what does
// not fit into the whole pool.
func (f *Core) admit(matches []messages.PrefixLocked, out *messages.Outbox) {
	room := f.room()
	asked, hit := 0, 0 // tokens
	var claimed []messages.RequestID
	refused, waits := false, false
	last := false // nobody is admitted behind one who has preempted others
	f.findFillers()
	defer f.forgetFillers()
	for i := range f.plan.candidates {
		c, match := &f.plan.candidates[i], matches[i]
		s := c.seq
		need := s.pagesAfter(s.expected(f.ratio.now, f.opt.ContextLength), f.opt.PageSize) - len(match.Pages)
		waits = false
		switch {
		case c.cancelled:
			f.endCandidate(s)
		case refused:
		case len(f.running) == 0 && f.rows.Free() > 0:
		case s.alone():
			f.making, refused = s.req.ID, true
		case f.alone():
			refused = true
		case s.state == candidate && f.waitsForPrefix(s):
			waits = true
		case need > room, f.rows.Free() == 0:
			if f.preempt(s.req, need-room, out) {
				room, last = f.room(), true
			}
			if need > room {
				f.blocked = blockade{s.req.ID, need}
			}
			refused = need > room || f.rows.Free() == 0
		}
		if c.cancelled || refused || waits {
			if match.Node != messages.RootNode {
				f.plan.unlocks = append(f.plan.unlocks, unlock{match.Node, len(match.Pages)})
			}
			continue
		}
		refused = last
		row, ok := f.rows.Take()
		invariants.Check(ok, "request %d is admitted without a free row", s.req.ID)
		if s.state == candidate {
			claimed = append(claimed, s.req.ID)
			f.byID[s.req.ID] = s
		} else {
			invariants.Check(f.retracted[0] == s, "request %d comes back before request %d", s.req.ID, f.retracted[0].req.ID)
			f.retracted = slices.Delete(f.retracted, 0, 1)
		}
		if !f.opt.CacheDisabled {
			asked, hit = asked+s.matchLimit(), hit+len(match.Pages)*f.opt.PageSize
		}
		if s.aged = false; f.overdue(s) {
			s.safe = f.now + f.opt.Aging
		}
		match.ID = s.req.ID
		s.admitted(row, match, f.opt.PageSize)
		f.byRow[row] = s
		f.running = append(f.running, s)
		if len(f.fillers) < maxSharers {
			f.fillers = append(f.fillers, s)
		}
		room -= need
		f.blocked = blockade{}
		if f.making == s.req.ID {
			f.making = 0
		}
	}
	clear(f.plan.candidates)
	f.plan.candidates = f.plan.candidates[:0]
	if asked > 0 { // only of the admitted: a candidate is looked up as often as it is offered
		out.Record(messages.CacheQueryTokens, float64(asked))
		out.Record(messages.CacheHitTokens, float64(hit))
	}
	if len(claimed) > 0 {
		out.ToQueue(&messages.ClaimCandidates{IDs: claimed})
		f.began = append(f.began, claimed...)
	}
}

// endCandidate ends a request between its offer and its admission.
func (f *Core) endCandidate(s *sequence) {
	if s.state == retracted {
		f.dropRetracted(s)
		return
	}
	s.state = gone
	f.ended = append(f.ended, messages.RequestEnded{ID: s.req.ID, Reason: messages.EndCancelled})
}

// room is how many pages are left when everybody who runs gets the output that
// is expected of it.
func (f *Core) room() int {
	n := f.sure()
	for _, s := range f.running {
		if s.active() {
			n -= f.charge(s)
		}
	}
	return n
}

// charge is how many pages a running sequence is expected to need beside those
// that it has.
func (f *Core) charge(s *sequence) int {
	return max(0, s.pagesAfter(s.expected(f.ratio.now, f.opt.ContextLength), f.opt.PageSize)-len(s.lease.Pages))
}

// leastNeed is how many pages a candidate is charged if everything of it that
// can be cached is locked by somebody already.
func (f *Core) leastNeed(s *sequence) int {
	return s.pagesAfter(s.expected(f.ratio.now, f.opt.ContextLength), f.opt.PageSize) - s.matchLimit()/f.opt.PageSize
}
