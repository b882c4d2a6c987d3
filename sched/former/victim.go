package former

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// victim is a running sequence that may have to give way, with what that costs.
type victim struct {
	s *sequence
	// rank is its priority, as far as priorities count: lower ones give way
	// first.
	rank int
	// frees is how many pages others get to use, and no longer need for it.
	frees int
	// cost is how many tokens must be computed again when it comes back.
	cost int
}

// rank orders requests by priority, higher ones first; all are equal unless
// preemption by priority is on.
func (f *Core) rank(r *messages.EngineRequest) int {
	switch {
	case !f.opt.PriorityPreemption:
		return 0
	case f.opt.LowPriorityFirst:
		return -int(r.Priority)
	}
	return int(r.Priority)
}

// worth orders cached prefixes by the priority of their requests, for the
// eviction policy that goes by it: the lowest is evicted first.
func (f *Core) worth(r *messages.EngineRequest) int32 {
	if f.opt.LowPriorityFirst {
		return ^r.Priority
	}
	return r.Priority
}

// victims chooses who gives way when need pages are missing: those that cost
// the fewest tokens computed again per page that is needed, as many as needed,
// nobody else. One sequence always goes on.
func (f *Core) victims(need int) []victim {
	if f.occupied() <= 1 {
		return nil
	}
	list := firstVictims(f.candidatesForRetraction(need, true), need)
	return list[:min(len(list), f.occupied()-1)]
}

// candidatesForRetraction lists running sequences as victims for a need, with
// or without those that compute their prompts. The list is good until the next
// one is made.
func (f *Core) candidatesForRetraction(need int, prompts bool) []victim {
	f.giveWay = f.giveWay[:0]
	for _, s := range f.running {
		if s.state == decoding || prompts && s.state == prefilling {
			f.giveWay = append(f.giveWay, f.victimOf(s, need))
		}
	}
	return f.giveWay
}

// victimOf weighs what retracting a sequence brings and costs.
//
// Its whole pages go to the cache as evictable. Pages that it found there at
// its admission are taken to be shared, so that they bring nothing and cost
// nothing. Of the others as many are evicted as are needed beyond those that
// hold nothing whole; the rest will be found again. Without a cache everything
// is computed again.
func (f *Core) victimOf(s *sequence, need int) victim {
	size := f.opt.PageSize
	v := victim{s: s, rank: f.rank(s.req), frees: f.missingOf(s, lookaheadSteps) + len(s.lease.Pages)}
	if f.opt.CacheDisabled {
		v.cost = s.done
		return v
	}
	whole, shared := paging.Whole(s.done, size), s.lease.Cached/size
	v.frees -= shared
	evicted := min(max(0, need-(v.frees-(whole-shared))), whole-shared)
	v.cost = s.done - whole*size + evicted*size
	return v
}

// firstVictims puts those in front that give way first, as many as cover a need
// or all, and returns them. None of them could be spared.
func firstVictims(list []victim, need int) []victim {
	slices.SortFunc(list, func(a, b victim) int { return a.compare(b, need) })
	covered, n := 0, 0
	for n < len(list) && covered < need {
		covered += list[n].frees
		n++
	}
	return spare(list[:n], covered, need)
}

// spare lets those go who need not give way, since others were added that free
// more; the dearest first. list is in the order of its choice.
func spare(list []victim, covered, need int) []victim {
	for i := len(list) - 2; i >= 0; i-- {
		if covered-list[i].frees >= need {
			covered -= list[i].frees
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// compare orders victims: the lowest rank, the fewest tokens computed again per
// page that is needed; among equals SGLang's retract_decode order, which is the
// fewest output tokens, the longest prompt, the latest.
func (a victim) compare(b victim, need int) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.cost*max(1, min(b.frees, need)), b.cost*max(1, min(a.frees, need))),
		cmp.Compare(a.s.output(), b.s.output()),
		cmp.Compare(len(b.s.req.Prompt), len(a.s.req.Prompt)),
		cmp.Compare(b.s.req.ID, a.s.req.ID),
	)
}
