package former

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
)

// sharedTokens is the least number of tokens of a prompt in progress for which
// a candidate waits (IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD): fewer are
// computed again sooner than waited for.
const sharedTokens = 32

// maxSharers bounds the prompts in progress that a candidate is compared with.
const maxSharers = 64

// maxOffered bounds an offer that is enlarged since others wait for a prefix.
const maxOffered = 256

// offerLimit is how many requests to ask for: as many as there are rows, and more
// when some of those offered last wait for a prefix, so that they hold up nobody
// behind them, unless there are hundreds.
func (f *Core) offerLimit() int {
	return min(min(f.rows.Free(), maxCandidates)+2*f.waiting, maxOffered)
}

// findFillers collects those whom candidates may wait for, the oldest first: who
// computes a prompt, or has done so and not inserted it yet.
func (f *Core) findFillers() {
	f.fillers = f.fillers[:0]
	if f.opt.CacheDisabled {
		return
	}
	for _, s := range f.running {
		if s.state == prefilling || s.insertDue && !s.postponed || s.filling > f.done {
			if f.fillers = append(f.fillers, s); len(f.fillers) == maxSharers {
				return
			}
		}
	}
}

// forgetFillers ends the use of the list, so that nobody lives on in it.
func (f *Core) forgetFillers() { clear(f.fillers[:cap(f.fillers)]) }

// waitsForPrefix reports whether a candidate would do better to find in the
// cache what a prompt in progress is about to put there, than to compute it
// again beside it. It waits only for those whose turn comes before its own
// would: the oldest prompt, or one with fewer tokens left. Nobody behind it
// has to wait with it.
//
// Compared are the next tokens that the other one will insert, and the first
// ones; that is enough, since a mistake ends when the other one has moved on.
func (f *Core) waitsForPrefix(c *sequence) bool {
	if c.alone() {
		return false
	}
	for i, s := range f.fillers {
		if (i == 0 || s.rest() <= len(c.tokens)) && f.aboutToShare(s, c) {
			return true
		}
	}
	return false
}

// aboutToShare reports whether a prompt in progress has yet to insert tokens
// that a candidate could use.
func (f *Core) aboutToShare(s, c *sequence) bool {
	size := f.opt.PageSize
	from := s.lease.Owned * size
	to := from + paging.Pages(sharedTokens, size)*size
	return to <= min(c.matchLimit(), len(s.tokens)) && s.req.Namespace == c.req.Namespace &&
		slices.Equal(s.tokens[from:to], c.tokens[from:to]) &&
		slices.Equal(s.tokens[:min(from, sharedTokens)], c.tokens[:min(from, sharedTokens)])
}
