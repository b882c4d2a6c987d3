package sched

import (
	"slices"

	"github.com/troupe-engine/troupe/memory"
)

// sharedTokens is the least number of tokens of a prompt in progress for which
// a candidate waits (IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD): fewer are
// computed again sooner than waited for.
const sharedTokens = 32

// maxSharers bounds the prompts in progress that a candidate is compared with.
const maxSharers = 64

// waitsForPrefix reports whether a candidate would do better to find in the
// cache what a prompt in progress is about to put there, than to compute it
// again beside it. It waits only for those whose turn comes before its own
// would: the oldest prompt, or one with fewer tokens left. Nobody behind it
// has to wait with it.
//
// Compared are the next tokens that the other one will insert, and the first
// ones; that is enough, since a mistake ends when the other one has moved on.
func (f *Former) waitsForPrefix(c *sequence) bool {
	if f.opt.CacheDisabled || c.alone() {
		return false
	}
	others := 0
	for _, s := range f.running {
		if s.state != prefilling && (!s.insertDue || s.postponed) && s.filling <= f.done {
			continue
		}
		if (others == 0 || s.rest() <= len(c.tokens)) && f.aboutToShare(s, c) {
			return true
		}
		if others++; others == maxSharers {
			return false
		}
	}
	return false
}

// aboutToShare reports whether a prompt in progress has yet to insert tokens
// that a candidate could use.
func (f *Former) aboutToShare(s, c *sequence) bool {
	size := f.opt.PageSize
	from := s.lease.Owned * size
	to := from + memory.PagesFor(sharedTokens, size)*size
	return to <= min(c.matchLimit(), len(s.tokens)) && s.req.Namespace == c.req.Namespace &&
		slices.Equal(s.tokens[from:to], c.tokens[from:to]) &&
		slices.Equal(s.tokens[:min(from, sharedTokens)], c.tokens[:min(from, sharedTokens)])
}
