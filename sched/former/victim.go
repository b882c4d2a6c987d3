package former

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
)

// victim is a running sequence that may be retracted, with the gain and the cost.
type victim struct {
	s     *sequence
	rank  int // lower ranks are retracted first
	frees int // pages that others can use, and that it no longer needs
	cost  int // tokens that must be computed again when it is admitted again
}

// newVictim weighs gain and cost of retracting a sequence for a need of pages.
//
// Its whole pages become evictable. Those that it found in the cache at its admission
// count as shared: they free nothing and cost nothing. Of the others, those needed
// beyond the pages that are freed anyway are evicted; the rest will be found again.
// Without a cache everything is computed again.
func newVictim(s *sequence, need int, o *Options) victim {
	v := victim{s: s, rank: o.rank(s.req), frees: s.missing(lookaheadSteps, o) + len(s.lease.Pages)}
	if o.CacheDisabled {
		v.cost = s.done
		return v
	}
	whole, shared := paging.Whole(s.done, o.PageSize), s.lease.Cached/o.PageSize
	v.frees -= shared
	evicted := min(max(0, need-(v.frees-(whole-shared))), whole-shared)
	v.cost = s.done - whole*o.PageSize + evicted*o.PageSize
	return v
}

// cover sorts a list and returns as many of it as cover the need, at least one, or all.
// Victims that are not needed, because later ones free more, are taken out again.
func cover(list []victim, need int, order func(a, b victim) int) []victim {
	slices.SortFunc(list, order)
	covered, n := 0, 0
	for n < len(list) && (n == 0 || covered < need) {
		covered += list[n].frees
		n++
	}
	list = list[:n]
	for i := n - 2; i >= 0; i-- {
		if covered-list[i].frees >= need {
			covered -= list[i].frees
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// latest orders victims for preemption: the lowest rank, then the latest.
func latest(a, b victim) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.s.req.ID, a.s.req.ID))
}

// cheapest orders victims by rank, then by the fewest tokens computed again per page
// that is needed. Among equals it is SGLang's retract_decode order: the fewest output
// tokens, the longest prompt, the latest.
func cheapest(need int) func(a, b victim) int {
	return func(a, b victim) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.cost*max(1, min(b.frees, need)), b.cost*max(1, min(a.frees, need))),
			cmp.Compare(a.s.output(), b.s.output()),
			cmp.Compare(len(b.s.req.Prompt), len(a.s.req.Prompt)),
			cmp.Compare(b.s.req.ID, a.s.req.ID),
		)
	}
}
