package former

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// prefixProducers are running sequences whose prompts will soon be in the cache,
// the oldest first. A candidate that shares such a prefix waits for it.
type prefixProducers []*sequence

const (
	// sharedTokens is the least number of tokens of a prompt in progress worth waiting
	// for (IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD): computing fewer again is faster.
	sharedTokens = 32
	// maxProducers bounds the sequences that a candidate is compared with.
	maxProducers = 64
)

// find collects sequences that compute a prompt or have not inserted it yet.
func (p *prefixProducers) find(v *snapshot, done messages.StepID) {
	*p = (*p)[:0]
	if v.opt.CacheDisabled {
		return
	}
	for _, s := range v.running {
		if s.state == prefilling || s.insertDue && !s.insertPostponed || s.prefillStep > done {
			p.add(s)
		}
	}
}

func (p *prefixProducers) add(s *sequence) {
	if len(*p) < maxProducers {
		*p = append(*p, s)
	}
}

// forget drops the references to requests in reused memory.
func (p prefixProducers) forget() { clear(p[:cap(p)]) }

// awaited reports whether a candidate should wait for the prefix that a prompt in
// progress will put into the cache, instead of computing it again. It waits for prompts
// that come before its own: the oldest one, or one with fewer tokens left.
func (p prefixProducers) awaited(c *sequence, pageSize int) bool {
	if c.alone() {
		return false
	}
	for i, s := range p {
		if (i == 0 || s.rest() <= len(c.tokens)) && aboutToShare(s, c, pageSize) {
			return true
		}
	}
	return false
}

// aboutToShare reports whether a prompt in progress has yet to insert tokens that a
// candidate can use. It compares the next tokens to insert and the first ones. That is
// enough: a mistake ends when the other sequence has moved on.
func aboutToShare(s, c *sequence, pageSize int) bool {
	from := s.lease.Owned * pageSize
	to := from + paging.Pages(sharedTokens, pageSize)*pageSize
	return to <= min(c.matchLimit(), len(s.tokens)) && s.req.Namespace == c.req.Namespace &&
		slices.Equal(s.tokens[from:to], c.tokens[from:to]) &&
		slices.Equal(s.tokens[:min(from, sharedTokens)], c.tokens[:min(from, sharedTokens)])
}
