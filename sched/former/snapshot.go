package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
)

// snapshot is what the planners of admission and preemption see. They only read the
// batch; the Core carries out their decisions.
type snapshot struct {
	*batch
	now        time.Duration
	ratio      float64 // new-token ratio
	freeRows   int
	reservable int  // pages that the next CommitPlan can reserve at least
	settled    bool // no step is in flight: every lease may be taken away
}

// need is how many pages a sequence will have with its expected output.
func (v *snapshot) need(s *sequence) int {
	return s.pagesAfter(s.expected(v.ratio, v.opt.ContextLength), v.opt.PageSize)
}

// leastNeed is how many pages a candidate is charged if all of it that may come
// from the cache is locked by others already.
func (v *snapshot) leastNeed(s *sequence) int {
	return v.need(s) - s.matchLimit()/v.opt.PageSize
}

// charge is how many pages a running sequence is expected to need beyond its own.
func (v *snapshot) charge(s *sequence) int { return max(0, v.need(s)-len(s.lease.Pages)) }

// check fails on a candidate that intake must have refused: it could never run.
func (v *snapshot) check(s *sequence) {
	invariants.Check(v.byID[s.req.ID] == nil, "request %d is offered twice", s.req.ID)
	invariants.Check(s.left(v.opt.ContextLength) >= 1 && s.pagesAfter(1, v.opt.PageSize) <= v.opt.Pages,
		"request %d of %d tokens, %d of them output, cannot go on: max_tokens %d, context %d, pool of %d pages",
		s.req.ID, len(s.tokens), s.output(), s.req.Params.MaxTokens, v.opt.ContextLength, v.opt.Pages)
}

// headroom is how many pages remain when every running sequence has its expected output.
func (v *snapshot) headroom() int {
	n := v.reservable
	for _, s := range v.running {
		if s.active() {
			n -= v.charge(s)
		}
	}
	return n
}

// reclaimable is how many pages admission gains when a sequence is retracted: its own and
// those it is expected to need. Pages from the cache count as shared with others.
func (v *snapshot) reclaimable(s *sequence) int {
	return v.charge(s) + len(s.lease.Pages) - s.lease.Cached/v.opt.PageSize
}

// freed is by how much headroom grows when sequences are retracted.
func (v *snapshot) freed(victims []victim) (n int) {
	for i := range victims {
		s := victims[i].s
		n += v.charge(s) + len(s.lease.Private())
	}
	return n
}
