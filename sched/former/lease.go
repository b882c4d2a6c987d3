package former

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// giveBack is a closing lease behind its fence, with the tokens whose KV its
// pages hold. It counts as leased until the next CommitPlan.
type giveBack struct {
	id        messages.RequestID
	namespace string
	priority  int32
	tokens    []int32 // whose KV is there; frozen
	lease     Lease
}

// release ends a sequence's use of its lease, which waits for the next
// CommitPlan. The fence must have passed. The caller says what becomes of the
// sequence and takes it from running.
func (f *Core) release(s *sequence) {
	invariants.Check(s.lease.Settled(f.done), "request %d is released after step %d, in use until %d", s.req.ID, f.done, s.lease.LastStep)
	s.lease.Close()
	// A step that computed the row after its end, or after a cancel, may have
	// stored the KV of a token that was dropped.
	known := min(s.done, len(s.tokens))
	f.returns = append(f.returns, giveBack{
		id: s.req.ID, namespace: s.req.Namespace, priority: f.worth(s.req), tokens: s.tokens[:known:known], lease: s.lease,
	})
	f.byRow[s.lease.Row] = nil
	if s.opened {
		f.closed = append(f.closed, s.lease.Row)
	}
	s.lease = Lease{}
	f.blocked, f.waits = blockade{}, false
}

// drop forgets a sequence that ended.
func (f *Core) drop(s *sequence) {
	if n := s.output(); n > 0 {
		f.ratio.ended(n, min(s.req.Params.MaxTokens, maxExpected))
	}
	s.state = gone
	delete(f.byID, s.req.ID)
}

// held reports whether a plan that is out may still change the sequence's
// lease.
func (f *Core) held() bool { return f.phase == settling || f.phase == committing }

// sweep releases cancelled and closing sequences as soon as neither the fence
// nor a plan holds them.
func (f *Core) sweep() {
	if f.leaving == 0 || f.held() || f.phase == failed {
		return
	}
	f.running = slices.DeleteFunc(f.running, func(s *sequence) bool {
		if s.active() || !s.lease.Settled(f.done) {
			return false
		}
		if s.state == cancelled {
			f.ended = append(f.ended, messages.RequestEnded{ID: s.req.ID, Reason: messages.EndCancelled})
		}
		f.release(s)
		f.drop(s)
		f.leaving--
		return true
	})
}

// finishRequests marks requests whose end intake has decided.
func (f *Core) finishRequests(m *messages.FinishRequests) {
	for _, id := range m.IDs {
		f.finish(id)
	}
}

func (f *Core) finish(id messages.RequestID) {
	if f.blocked.head == id {
		f.blocked = blockade{}
	}
	if f.making == id {
		f.making = 0
	}
	if f.phase == locking {
		if c := f.plan.candidate(id); c != nil {
			// It gets a lock in the cache; its end is reported when the lock
			// is known.
			c.cancelled = true
			return
		}
	}
	s := f.byID[id]
	switch {
	case s == nil:
		f.ended = append(f.ended, messages.RequestEnded{ID: id, Reason: messages.EndCancelled})
	case s.state == retracted:
		f.dropRetracted(s)
	case s.active():
		s.state = cancelled
		f.leaving++
	default:
		invariants.Check(s.state == cancelled, "request %d is %s and finished", id, s.state)
	}
}

// dropRetracted ends a sequence that holds nothing.
func (f *Core) dropRetracted(s *sequence) {
	i := slices.Index(f.retracted, s)
	f.retracted = slices.Delete(f.retracted, i, i+1)
	f.drop(s)
	f.ended = append(f.ended, messages.RequestEnded{ID: s.req.ID, Reason: messages.EndCancelled})
}

// sure is how many pages the next CommitPlan can reserve at least. Private
// pages of returned leases become evictable or free; what their locked
// prefixes add is known only when they are unlocked, since others may share
// them.
func (f *Core) sure() int {
	n := f.free + f.cached.Evictable
	for i := range f.returns {
		n += len(f.returns[i].lease.Private())
	}
	for _, c := range f.copies {
		if c.until <= f.done {
			n += len(c.pages)
		}
	}
	return n
}

// hoped is sure when nobody shares what the next CommitPlan unlocks, and the
// tree has already whatever it inserts, so that the copies come free.
func (f *Core) hoped() int {
	n := f.sure()
	for _, s := range f.running {
		if s.insertDue && s.lease.Settled(f.done) {
			n += paging.Whole(s.done, f.opt.PageSize) - s.lease.Owned
		}
	}
	for i := range f.returns {
		n += f.returns[i].lease.Owned
	}
	for i := range f.plan.unlocks {
		n += f.plan.unlocks[i].pages
	}
	return n
}

// leased is how many pages are private to leases, and copies.
func (f *Core) leased() int {
	n := 0
	for _, s := range f.running {
		n += len(s.lease.Private())
	}
	for _, c := range f.copies {
		n += len(c.pages)
	}
	for i := range f.returns {
		n += len(f.returns[i].lease.Private())
	}
	return n
}
