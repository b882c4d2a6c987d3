package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// plan is what leads to the next step. Its id changes when a commit has settled
// and another one follows, so that no two commits have the same.
type plan struct {
	id         messages.PlanID
	candidates []planCandidate
	unlocks    []unlock    // candidates that were refused
	inserts    []insertion // of the CommitPlan that is out
	reserves   []*sequence // of the CommitPlan that is out
	retracted  bool        // somebody was: nobody is admitted
	spare      int         // pages beside what the step needs; below 0: missing
}

// planCandidate is a request that may be admitted.
type planCandidate struct {
	seq       *sequence
	cancelled bool
}

// unlock is a lock of the cache to give back.
type unlock struct {
	node  messages.NodeID
	pages int
}

// insertion is one that keeps its prefix; seq is nil for one that does not.
type insertion struct {
	seq    *sequence
	pages  int
	copies bool // those of pages that the tree has already come back
}

func (p *plan) candidate(id messages.RequestID) *planCandidate {
	for i := range p.candidates {
		if p.candidates[i].seq.req.ID == id {
			return &p.candidates[i]
		}
	}
	return nil
}

// openPlan starts the next plan and reports whether it rests again,
// with something to do.
func (f *Core) openPlan(now time.Duration, out *messages.Outbox) (again bool) {
	if len(f.running)+len(f.retracted)+len(f.returns)+len(f.copies) == 0 && !f.mayWait {
		return f.idle(out)
	}
	if f.fenced() {
		f.wait()
		return false
	}
	f.pressing = false
	f.plan = plan{id: f.plan.id + 1, candidates: f.plan.candidates[:0], unlocks: f.plan.unlocks[:0],
		inserts: f.plan.inserts[:0], reserves: f.plan.reserves[:0]}
	f.forceRetraction(out)
	f.makePlace(out)
	if f.wantsCandidates() && f.missing() <= f.sure() { // asked in this order: mostly nobody waits
		return f.askCandidates(now, out)
	}
	return f.commit(now, out)
}

// commit sends what changes the cache and the allocator, or goes on to the step
// when nothing does. When the pages are not there before the step that runs has
// given some back, it waits.
func (f *Core) commit(now time.Duration, out *messages.Outbox) (again bool) {
	f.wantPages()
	room := f.makeRoom(out)
	if room == afterStep {
		f.wait()
		return false
	}
	settle := room == afterSettling
	m := f.newCommit()
	f.giveBack(m)
	f.insertPrefixes(m)
	if !settle {
		f.reserve(m)
	}
	if len(m.Inserts)+len(m.Unlocks)+len(m.Frees)+len(m.Reserves) == 0 {
		return f.launch(now, out)
	}
	f.sendCommit(m, out)
	if settle {
		f.become(settling)
	} else {
		f.become(committing)
	}
	return false
}

func (f *Core) sendCommit(m *messages.CommitPlan, out *messages.Outbox) {
	m.Plan = f.plan.id
	f.audit.dirty = true
	f.history.note(m)
	out.ToCache(m)
}

// giveBack moves returned leases and refused candidates' locks into a message.
// The pages that a lease's computed tokens fill go to the tree, so that a
// retracted request or the next turn of a conversation finds them; the partial
// page and what was never written are freed.
func (f *Core) giveBack(m *messages.CommitPlan) {
	for i := range f.returns {
		g := &f.returns[i]
		owned, whole := g.lease.Owned, paging.Whole(len(g.tokens), f.opt.PageSize)
		pages := g.lease.Pages
		row, private, node := g.lease.Release(f.done)
		f.rows.Give(row)
		switch {
		case !f.opt.CacheDisabled && whole > owned:
			m.Inserts = append(m.Inserts, messages.PrefixInsert{
				ID: g.id, Namespace: g.namespace, Priority: g.priority, Tokens: g.tokens[:whole*f.opt.PageSize],
				Pages: pages[:whole:whole], Owned: owned, Node: node,
			})
			f.plan.inserts = append(f.plan.inserts, insertion{})
			m.Frees = append(m.Frees, pages[whole:]...)
		default:
			m.Frees = append(m.Frees, private...)
			if node != messages.RootNode {
				m.Unlocks = append(m.Unlocks, node)
			}
		}
	}
	clear(f.returns)
	f.returns = f.returns[:0]
	f.freeCopies(m)
	for _, u := range f.plan.unlocks {
		m.Unlocks = append(m.Unlocks, u.node)
	}
	f.plan.unlocks = f.plan.unlocks[:0]
}

// insertPrefixes shares what running prefills have computed.
//
// While a step still reads the pages, those that the tree has already are not
// freed, but the tree's may have been evictable and get locked: the plan may
// lose as many pages as are inserted. So this happens only while the plan has
// pages to spare; otherwise it waits until the step is done.
//
// No lease changes while the plan is out, so that the cache may look at its
// pages: a copy would cost as much with every chunk as all before it.
func (f *Core) insertPrefixes(m *messages.CommitPlan) {
	for _, s := range f.running {
		if !s.insertDue || !s.active() {
			continue
		}
		whole, copies := paging.Whole(s.done, f.opt.PageSize), !s.lease.Settled(f.done)
		if n := whole - s.lease.Owned; copies {
			if n > f.plan.spare {
				s.postponed = true
				continue
			}
			f.plan.spare -= n
		}
		s.insertDue, s.postponed = false, false
		m.Inserts = append(m.Inserts, messages.PrefixInsert{
			ID: s.req.ID, Namespace: s.req.Namespace, Priority: f.worth(s.req), Tokens: s.tokens[: whole*f.opt.PageSize : whole*f.opt.PageSize],
			Pages: s.lease.Pages[:whole:whole], Owned: s.lease.Owned, Node: s.lease.Node, Keep: true, KeepCopies: copies,
		})
		f.plan.inserts = append(f.plan.inserts, insertion{s, whole, copies})
	}
}

// pagesReserved takes what a CommitPlan brought and goes on.
func (f *Core) pagesReserved(now time.Duration, m *messages.PagesReserved, out *messages.Outbox) {
	f.must((f.held() || f.phase == flushing) && m.Plan == f.plan.id, "PagesReserved")
	if len(m.Inserted) != len(f.plan.inserts) || len(m.Granted) != len(f.plan.reserves) {
		invariants.Fail("plan %d asked for %d insertions and %d reservations and got %d and %d",
			m.Plan, len(f.plan.inserts), len(f.plan.reserves), len(m.Inserted), len(m.Granted))
	}
	for i, ins := range f.plan.inserts {
		if ins.seq != nil {
			f.inserted(ins, m.Inserted[i])
			f.blocked = blockade{} // whoever waits may find more now
		}
	}
	for i, s := range f.plan.reserves {
		if m.Granted[i].ID != s.req.ID {
			invariants.Fail("plan %d granted pages to request %d instead of %d", m.Plan, m.Granted[i].ID, s.req.ID)
		}
		s.lease.Grow(m.Granted[i].Pages)
	}
	clear(f.plan.inserts)
	clear(f.plan.reserves)
	f.plan.inserts, f.plan.reserves = f.plan.inserts[:0], f.plan.reserves[:0]
	f.history.close(m)
	freed := m.Free - f.free
	f.free, f.cached = m.Free, m.Cached
	was := f.phase
	f.become(resting)
	f.takeKept(now, out)
	f.sweep() // so that the device hears of closed rows before their pages move on
	switch was {
	case flushing:
		f.flushed(freed, out)
	case settling:
		f.plan.id++
		f.commit(now, out)
	case committing:
		f.launch(now, out)
	}
}

// inserted notes what became of a prefix that a running sequence shares.
func (f *Core) inserted(ins insertion, outcome messages.PrefixInserted) {
	s := ins.seq
	invariants.Check(outcome.ID == s.req.ID, "request %d was inserted instead of %d", outcome.ID, s.req.ID)
	if ins.copies && len(outcome.Pages) > 0 {
		f.keepCopies(s, outcome)
	}
	if !s.lease.Inserted(outcome, ins.pages) {
		return
	}
	from, to := outcome.First, outcome.First+len(outcome.Pages)
	if s.staleFrom < s.staleTo { // no step was launched since the last insertion
		from, to = min(from, s.staleFrom), max(to, s.staleTo)
	}
	s.staleFrom, s.staleTo = from, to
}
