package sched

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// checkInvariants fails on the first invariant of the type's list that does not
// hold, by its number.
func (f *Former) checkInvariants() {
	if f.phase == failed {
		return
	}
	if !f.held() && f.phase != flushing {
		n := f.free + f.cached.Evictable + f.cached.Protected + f.leased()
		// Between LockPrefixes and its answer the cache's two counters are old,
		// but their sum is not changed by locking.
		invariants.Check(n == f.opt.Pages, "1: %d pages are accounted for, of %d", n, f.opt.Pages)
	}
	f.checkPages()
	invariants.Check(f.rows.Limit()-f.rows.Free() == len(f.running)+len(f.returns),
		"3: %d rows are out, %d sequences run, %d leases wait", f.rows.Limit()-f.rows.Free(), len(f.running), len(f.returns))
	invariants.Check(len(f.byID) == len(f.running)+len(f.retracted),
		"4: %d sequences by id, %d run, %d are retracted", len(f.byID), len(f.running), len(f.retracted))
	cancels := 0
	for _, s := range f.running {
		f.checkRunning(s)
		if s.state == cancelled {
			cancels++
		}
	}
	invariants.Check(cancels == f.cancels, "8: %d sequences are cancelled, %d counted", cancels, f.cancels)
	for i, s := range f.retracted {
		invariants.Check(s.state == retracted && f.byID[s.req.ID] == s && (i == 0 || f.retracted[i-1].req.ID < s.req.ID),
			"4: request %d is %s in the list of retracted ones at %d", s.req.ID, s.state, i)
	}
	for i := range f.returns {
		invariants.Check(f.returns[i].lease.Settled(f.done), "6: request %d returns its lease too early", f.returns[i].id)
	}
	invariants.Check(!f.alone() || len(f.running) == 1, "7: a request that is alone is one of %d", len(f.running))
}

// checkPages is invariant 2.
func (f *Former) checkPages() {
	private := make(map[messages.Page]messages.RequestID)
	take := func(id messages.RequestID, pages []messages.Page) {
		for _, p := range pages {
			other, taken := private[p]
			invariants.Check(!taken, "2: page %d is private to requests %d and %d", p, other, id)
			private[p] = id
		}
	}
	for _, s := range f.running {
		take(s.req.ID, s.lease.Private())
	}
	for i := range f.returns {
		take(f.returns[i].id, f.returns[i].lease.Private())
	}
	for _, s := range f.running {
		for _, p := range s.lease.Pages[:s.lease.Owned] {
			other, taken := private[p]
			invariants.Check(!taken, "2: page %d is in the tree for request %d and private to %d", p, s.req.ID, other)
		}
	}
}

func (f *Former) checkRunning(s *sequence) {
	id, size := s.req.ID, f.opt.PageSize
	invariants.Check(s.active() || s.state == cancelled, "4: request %d is %s and in the list of running ones", id, s.state)
	invariants.Check(f.byID[id] == s && f.byRow[s.lease.Row] == s, "3: request %d does not hold row %d", id, s.lease.Row)
	invariants.Check(s.computed <= s.lease.Capacity(size) && s.lease.Owned*size <= s.computed && s.computed < len(s.tokens)+1,
		"5: request %d has computed %d of %d tokens on %d pages, %d of them the tree's", id, s.computed, len(s.tokens), len(s.lease.Pages), s.lease.Owned)
	invariants.Check(s.state != decoding || s.computed == len(s.tokens)-1, "5: request %d decodes with %d of %d tokens computed", id, s.computed, len(s.tokens))
	invariants.Check(s.state != cancelled || f.held() || !s.lease.Settled(f.done), "8: request %d is cancelled and nothing holds it", id)
}
