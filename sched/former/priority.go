package former

import (
	"cmp"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// rank orders requests: higher priority first; all are equal without priority preemption.
func (o *Options) rank(r *messages.EngineRequest) int {
	switch {
	case !o.PriorityPreemption:
		return 0
	case o.LowPriorityFirst:
		return -int(r.Priority)
	}
	return int(r.Priority)
}

// evictionPriority orders cached prefixes for the eviction policy that uses the
// priority of their requests: the lowest is evicted first.
func (o *Options) evictionPriority(r *messages.EngineRequest) int32 {
	if o.LowPriorityFirst {
		return ^r.Priority
	}
	return r.Priority
}

// overdue reports whether a sequence has waited for Aging and so goes first.
func (o *Options) overdue(s *sequence, now time.Duration) bool {
	return o.Aging > 0 && o.PriorityPreemption && now-s.waitingSince >= o.Aging
}

// resumeOrder orders retracted sequences: aged ones first, then by rank, then by arrival.
func (o *Options) resumeOrder(a, b *sequence) int {
	switch {
	case a.aged && b.aged:
		return cmp.Compare(a.req.ID, b.req.ID)
	case a.aged:
		return -1
	case b.aged:
		return 1
	}
	return cmp.Or(cmp.Compare(o.rank(b.req), o.rank(a.req)), cmp.Compare(a.req.ID, b.req.ID))
}
