package former

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// A waiting request preempts running ones whose priority is lower by more than
// the threshold: the lowest first, of those the latest, until its need is
// covered, or nobody (PrefillAdder.preempt_to_schedule, items 22, 29 and 30).
// What the victims held and were expected to need is counted back, not what the
// newcomer needs. Victims wait ahead of new requests of their priority, behind
// the newcomer, so that nobody is preempted twice for the same one.
//
// Nothing can be preempted while a step runs. The next plan then waits for it.
//
// Nobody starves by it: who has waited for Aging goes first whatever its rank,
// also when it was preempted, and is not preempted for as long again.

// mayPreempt reports whether the head of the queue is worth a look although it
// cannot be admitted as things are.
func (f *Core) mayPreempt() bool { return f.opt.PriorityPreemption && f.mayWait }

// preemptible lists whom a request may preempt to get pages, and at least one
// row; nil when all of them together do not cover it. The list is good until
// the next one is made.
func (f *Core) preemptible(r *messages.EngineRequest, pages int) []victim {
	if !f.opt.PriorityPreemption {
		return nil
	}
	list, all := f.giveWay[:0], 0
	for _, s := range f.running {
		if s.active() && f.now >= s.safe && f.rank(r)-f.rank(s.req) > f.opt.PreemptionThreshold {
			v := victim{s: s, rank: f.rank(s.req), frees: f.brings(s)}
			list, all = append(list, v), all+v.frees
		}
	}
	f.giveWay = list
	if all < pages {
		return nil
	}
	slices.SortFunc(list, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.s.req.ID, a.s.req.ID))
	})
	covered := 0
	for i := range list {
		covered += list[i].frees
		if covered >= pages {
			return spare(list[:i+1], covered, pages)
		}
	}
	return nil // nobody is less urgent
}

// brings is how many pages admission has more when a sequence is retracted: its
// own, and those that were expected to be added. Pages that it found in the
// cache are taken to be shared.
func (f *Core) brings(s *sequence) int {
	return f.charge(s) + len(s.lease.Pages) - s.lease.Cached/f.opt.PageSize
}

// preempt makes way for a request that lacks pages, or a row. It reports whether
// anybody had to give way.
func (f *Core) preempt(r *messages.EngineRequest, pages int, out *messages.Outbox) bool {
	list := f.preemptible(r, pages)
	if len(list) == 0 {
		return false
	}
	if !f.quiet() {
		f.pressing = true
		return false
	}
	f.takeBack(list, out)
	return true
}

// considerPreemption is asked before a prefix is locked for the head of those
// who wait, which lacks pages or a row. It reports whether preemption would help,
// and can be done now.
func (f *Core) considerPreemption(s *sequence, pages int) bool {
	if len(f.preemptible(s.req, pages)) == 0 {
		return false
	}
	if !f.quiet() {
		f.pressing = true
		return false
	}
	return true
}

// overdue reports whether a sequence has waited for so long that it goes first.
func (f *Core) overdue(s *sequence) bool {
	return f.opt.Aging > 0 && f.opt.PriorityPreemption && f.now-s.since >= f.opt.Aging
}

// age puts those in front who have waited for too long since they gave way.
func (f *Core) age() {
	some := false
	for _, s := range f.retracted {
		if !s.aged && f.overdue(s) {
			s.aged, some = true, true
		}
	}
	if some {
		slices.SortFunc(f.retracted, f.comesBackBefore)
	}
}

// nextToConsider takes the next one of those who come back and those who are
// offered: who has waited for too long, then whoever has the higher rank, among
// equals who comes back.
func (f *Core) nextToConsider(back *[]*sequence, offered *[]*messages.EngineRequest) *sequence {
	switch {
	case len(*back) == 0 && len(*offered) == 0:
		return nil
	case len(*back) > 0 && (len(*offered) == 0 || (*back)[0].aged || f.rank((*back)[0].req) >= f.rank((*offered)[0])):
		s := (*back)[0]
		*back = (*back)[1:]
		return s
	}
	s := newSequence((*offered)[0])
	*offered = (*offered)[1:]
	return s
}
