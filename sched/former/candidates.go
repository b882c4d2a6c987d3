package former

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// admission chooses the candidates of a plan among the waiting requests. round (verdict.go)
// decides which of them are admitted.
type admission struct {
	// queued is false only after the queue has reported that no request waits. It sends
	// CandidatesWaiting when that changes.
	queued bool
	block  headOfLineBlock
	// drainFor is the request at the head of the queue that must run alone, so that
	// all others are retracted for it; 0: none.
	drainFor   messages.RequestID
	waiting    int // requests of the last offer that wait for a prefix
	producers  prefixProducers
	candidates []planCandidate
}

type planCandidate struct {
	seq   *sequence
	ended bool // since it was offered
}

// headOfLineBlock remembers how many pages the first waiting request needed, so that it
// is not offered and matched again at every step. It lasts until the headroom covers
// them, a lease is released or the request ends.
type headOfLineBlock struct {
	head messages.RequestID
	need int // pages
}

const (
	// maxCandidates bounds the candidates of a plan, and with it the prefixes that
	// are locked in vain when few of them fit.
	maxCandidates = 64
	// maxOffered bounds an offer that is larger because requests wait for a prefix.
	maxOffered = 256
)

// mayPreempt reports whether the head of the queue is looked at although it does not fit.
func (a *admission) mayPreempt(o *Options) bool { return o.PriorityPreemption && a.queued }

// admits reports whether there is a row, and headroom for the request that was refused.
func (a *admission) admits(v *snapshot) bool {
	return v.freeRows > 0 && (a.block.need == 0 || a.block.need <= v.headroom())
}

// wants reports whether one of the requests that wait might be admitted now.
func (a *admission) wants(v *snapshot) bool {
	switch {
	case v.freeRows == 0 && (len(v.running) == 0 || !a.mayPreempt(v.opt)):
		return false
	case len(v.running) == 0:
		return true
	case a.drainFor != 0 || v.alone():
		return false
	}
	return a.admits(v) || a.mayPreempt(v.opt)
}

// asksQueue reports whether to ask the queue: retracted sequences go first in their rank.
func (a *admission) asksQueue(v *snapshot) bool {
	return len(v.retracted) == 0 || a.drainFor != 0 || a.mayPreempt(v.opt)
}

// offerLimit is how many requests to ask for: one for each row, and more when some of
// the last offer wait for a prefix, so that they do not hold up those after them. If
// nothing fits it is the one that may preempt.
func (a *admission) offerLimit(v *snapshot) int {
	if !a.admits(v) {
		return 1
	}
	return min(min(v.freeRows, maxCandidates)+2*a.waiting, maxOffered)
}

// eligible returns the part of an offer that may be admitted now.
func (a *admission) eligible(v *snapshot, offered []*messages.EngineRequest) []*messages.EngineRequest {
	if a.drainFor != 0 {
		at := slices.IndexFunc(offered, func(r *messages.EngineRequest) bool { return r.ID == a.drainFor })
		if at >= 0 {
			return offered[at : at+1] // those that were retracted for it come after it
		}
		a.drainFor = 0 // it has ended, or others have gone before it
	}
	if len(v.retracted) > 0 && !v.opt.PriorityPreemption {
		return nil
	}
	return offered
}

// choose makes candidates of the retracted sequences and the head of the queue, in order
// of rank, up to the first without headroom. Their prefixes are locked next, with one
// message: a suspect that must run alone has it for itself.
func (a *admission) choose(v *snapshot, p *pressure, offered []*messages.EngineRequest, done messages.StepID) {
	offered = a.eligible(v, offered)
	limit := max(1, min(v.freeRows, maxCandidates))
	resuming := v.retracted[:min(limit, len(v.retracted))]
	if a.drainFor != 0 {
		resuming = nil
	}
	headroom := v.headroom()
	a.candidates, a.waiting = a.candidates[:0], 0
	a.producers.find(v, done)
	defer a.producers.forget()
	for len(a.candidates) < limit {
		s := nextCandidate(&resuming, &offered, v.opt)
		if s == nil || s.alone() && len(a.candidates) > 0 {
			return
		}
		if s.state == candidate {
			v.check(s)
			if a.producers.awaited(s, v.opt.PageSize) {
				a.waiting++
				continue
			}
		}
		need, ok := a.mayFit(v, p, s, headroom)
		if !ok {
			return
		}
		headroom -= need
		a.candidates = append(a.candidates, planCandidate{seq: s})
		if s.alone() {
			return
		}
	}
}

// nextCandidate takes the next one of the retracted sequences and the offered requests:
// one that has waited for Aging, then the higher rank, among equals the retracted one.
func nextCandidate(resuming *[]*sequence, offered *[]*messages.EngineRequest, o *Options) *sequence {
	switch {
	case len(*resuming) == 0 && len(*offered) == 0:
		return nil
	case len(*resuming) > 0 && (len(*offered) == 0 || (*resuming)[0].aged || o.rank((*resuming)[0].req) >= o.rank((*offered)[0])):
		s := (*resuming)[0]
		*resuming = (*resuming)[1:]
		return s
	}
	s := newSequence((*offered)[0])
	*offered = (*offered)[1:]
	return s
}

// mayFit reports whether a sequence fits if as much of it as possible comes from the
// cache, and how many pages it needs then. If it does not, nothing after it is a
// candidate either, and no prefix is locked in vain. The head may preempt others, and
// always fits when no request runs.
func (a *admission) mayFit(v *snapshot, p *pressure, s *sequence, headroom int) (need int, ok bool) {
	need = v.leastNeed(s)
	if a.block.head == s.req.ID {
		need = max(need, a.block.need) // known since its prefix was locked
	}
	head := len(a.candidates) == 0
	if need <= headroom && v.freeRows > 0 || head && len(v.running) == 0 {
		return need, true
	}
	if head && need > headroom {
		a.block = headOfLineBlock{s.req.ID, need}
	}
	return need, head && len(p.preempt(v, s.req, need-headroom)) > 0
}

// endCandidate marks a candidate whose request has ended; false if it is not one.
func (a *admission) endCandidate(id messages.RequestID) bool {
	at := slices.IndexFunc(a.candidates, func(c planCandidate) bool { return c.seq.req.ID == id })
	if at >= 0 {
		a.candidates[at].ended = true
	}
	return at >= 0
}

// arrived follows a request in an empty queue, or one before all that were offered.
func (a *admission) arrived() { a.queued, a.block = true, headOfLineBlock{} }

func (a *admission) ended(id messages.RequestID) {
	if a.block.head == id {
		a.block = headOfLineBlock{}
	}
	if a.drainFor == id {
		a.drainFor = 0
	}
}

// unblock follows a change that may give the blocked request more pages.
func (a *admission) unblock() { a.block = headOfLineBlock{} }

func (a *admission) idle() { a.block, a.waiting = headOfLineBlock{}, 0 }

func (a *admission) forget() {
	clear(a.candidates)
	a.candidates = a.candidates[:0]
}
