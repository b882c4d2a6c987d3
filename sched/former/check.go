package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// checkInvariants fails on the first invariant of the type's list that does not
// hold, by its number.
func (f *Core) checkInvariants() {
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
	leaving, ended := 0, 0
	for _, s := range f.running {
		f.checkRunning(s)
		switch s.state {
		case cancelled:
			leaving++
		case closing:
			leaving, ended = leaving+1, ended+1
		}
	}
	invariants.Check(len(f.byID) == len(f.running)-ended+len(f.retracted),
		"4: %d sequences by id, %d run, %d of them ended, %d are retracted", len(f.byID), len(f.running), ended, len(f.retracted))
	invariants.Check(leaving == f.leaving, "8: %d sequences are cancelled or closing, %d counted", leaving, f.leaving)
	f.checkFlights()
	for i, s := range f.retracted {
		invariants.Check(s.state == retracted && f.byID[s.req.ID] == s && (i == 0 || f.comesBackBefore(f.retracted[i-1], s) < 0),
			"4: request %d is %s in the list of retracted ones at %d", s.req.ID, s.state, i)
	}
	for i := range f.returns {
		invariants.Check(f.returns[i].lease.Settled(f.done), "6: request %d returns its lease too early", f.returns[i].id)
	}
	invariants.Check(!f.alone() || len(f.running) == 1, "7: a request that is alone is one of %d", len(f.running))
}

// checkPages is invariant 2.
func (f *Core) checkPages() {
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
	for _, c := range f.copies {
		take(0, c.pages)
	}
	for _, s := range f.running {
		for _, p := range s.lease.Pages[:s.lease.Owned] {
			other, taken := private[p]
			invariants.Check(!taken, "2: page %d is in the tree for request %d and private to %d", p, s.req.ID, other)
		}
	}
}

func (f *Core) checkRunning(s *sequence) {
	id, size := s.req.ID, f.opt.PageSize
	invariants.Check(s.active() || s.state == cancelled || s.state == closing, "4: request %d is %s and in the list of running ones", id, s.state)
	invariants.Check((f.byID[id] == s) == (s.state != closing) && f.byRow[s.lease.Row] == s, "3: request %d, %s, does not hold row %d", id, s.state, s.lease.Row)
	invariants.Check(s.done <= s.scheduled && s.scheduled <= s.lease.Capacity(size) && s.lease.Owned*size <= s.done,
		"5: request %d has %d tokens, %d scheduled, %d done, on %d pages, %d of them the tree's", id, len(s.tokens), s.scheduled, s.done, len(s.lease.Pages), s.lease.Owned)
	invariants.Check(!s.active() || s.scheduled < s.length() && (s.state == decoding && s.scheduled == s.length()-1 || s.state == prefilling && s.pending == 0),
		"5: request %d is %s with %d of %d tokens scheduled, %d pending", id, s.state, s.scheduled, s.length(), s.pending)
	invariants.Check(!s.active() || s.ahead(f.opt.ContextLength) >= 0, "5: request %d has %d tokens pending, %d are left", id, s.pending, s.left(f.opt.ContextLength))
	invariants.Check(s.active() || f.held() || !s.lease.Settled(f.done), "8: request %d is %s and nothing holds it", id, s.state)
}

// checkFlights is invariant 9.
func (f *Core) checkFlights() {
	invariants.Check(len(f.flights) <= f.opt.StepsInFlight && int(f.step-f.done) == len(f.flights),
		"9: steps %d to %d run, %d are listed", f.done+1, f.step, len(f.flights))
	invariants.Check(f.kept == nil || f.held() && f.kept.Step == f.done+1, "9: results of a step are kept without a reason")
	invariants.Check(!f.waits || !f.quiet(), "9: the batch former waits for a step and none runs")
	done, pending, open := make(map[*sequence]int), make(map[*sequence]int), make(map[*sequence]bool)
	for i := range f.flights {
		fl := &f.flights[i]
		invariants.Check(fl.step == f.done+1+messages.StepID(i), "9: step %d runs as number %d after step %d", fl.step, i+1, f.done)
		for _, w := range fl.work {
			invariants.Check(f.byRow[w.seq.lease.Row] == w.seq && w.seq.lease.LastStep >= fl.step, "9: request %d works in step %d without its row", w.seq.req.ID, fl.step)
			done[w.seq] = w.end
			invariants.Check(!open[w.seq], "9: request %d works in step %d, but nobody knows how many tokens the one before brings", w.seq.req.ID, fl.step)
			if open[w.seq] = w.sample > 1; w.sample > 0 {
				pending[w.seq]++
			}
		}
	}
	for _, s := range f.running {
		end, runs := done[s]
		if !runs {
			end = s.done
		}
		invariants.Check(s.open == open[s], "9: request %d waits for more than one token: %t, by its steps %t", s.req.ID, s.open, open[s])
		invariants.Check(s.scheduled == end && s.pending == pending[s], "9: request %d has %d of %d tokens scheduled and %d pending, by its steps %d and %d",
			s.req.ID, s.scheduled, s.length(), s.pending, end, pending[s])
	}
}
