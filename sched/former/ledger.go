package former

import (
	"math"
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// ledger counts the pages of the pool by owner, and has the rows. The counters are
// exact: only a CommitPlan changes them, and its answer has the new ones.
//
// Invariants:
//
//  1. free + evictable + protected, as last reported, + leased = Pages, unless a
//     CommitPlan is out.
//  2. A page is private to one lease, or one of the deferred frees.
//  3. Rows in use = running sequences + released leases.
type ledger struct {
	opt      *Options
	free     int // as the allocator reported last
	cached   messages.CachePages
	rows     *Rows
	released []releasedLease // for the next CommitPlan
	deferred []deferredFrees // oldest first
	unlocks  []unlock        // for the next CommitPlan
}

// releasedLease is a closing lease that no step uses any more, with the tokens
// whose KV is in its pages. It counts as leased until the next CommitPlan.
type releasedLease struct {
	id        messages.RequestID
	namespace string
	priority  int32
	tokens    []int32 // frozen
	lease     Lease
}

// deferredFrees are pages that a row gave up for those of the tree while a step
// still reads them. They count as leased until that step is done.
type deferredFrees struct {
	until messages.StepID
	pages []messages.Page
}

// unlock is a lock of a candidate that was not admitted.
type unlock struct {
	node  messages.NodeID
	pages int
}

func newLedger(opt *Options) ledger {
	return ledger{opt: opt, free: opt.Pages, rows: NewRows(opt.MaxRunning)}
}

// reservableNow is how many pages the next CommitPlan can reserve at least. What the
// locked prefixes of released leases add is not known yet: others may share them.
func (l *ledger) reservableNow(done messages.StepID) int {
	return l.free + l.cached.Evictable + l.returned(done)
}

// returned is how many pages of released leases and deferred frees no step up to done uses.
func (l *ledger) returned(done messages.StepID) (n int) {
	for i := range l.released {
		n += len(l.released[i].lease.Private())
	}
	for _, d := range l.deferred {
		if d.until <= done {
			n += len(d.pages)
		}
	}
	return n
}

// reservableAtBest is reservableNow if no other request shares what the next CommitPlan
// unlocks, and the tree already has all that it inserts.
func (l *ledger) reservableAtBest(running []*sequence, done messages.StepID) int {
	n := l.reservableNow(done)
	for _, s := range running {
		if s.insertDue && s.lease.Settled(done) {
			n += paging.Whole(s.done, l.opt.PageSize) - s.lease.Owned
		}
	}
	for i := range l.released {
		n += l.released[i].lease.Owned
	}
	for i := range l.unlocks {
		n += l.unlocks[i].pages
	}
	return n
}

// leased is how many pages are private to leases, or deferred frees.
func (l *ledger) leased(running []*sequence) int {
	n := l.returned(math.MaxUint64)
	for _, s := range running {
		n += len(s.lease.Private())
	}
	return n
}

// release takes a sequence's lease for the next CommitPlan. The fence must have passed.
func (l *ledger) release(s *sequence, done messages.StepID) {
	invariants.Check(s.lease.Settled(done), "request %d is released after step %d, in use until %d", s.req.ID, done, s.lease.LastStep)
	s.lease.Close()
	// A step after the request's end may have stored the KV of a dropped token.
	known := min(s.done, len(s.tokens))
	l.released = append(l.released, releasedLease{
		id: s.req.ID, namespace: s.req.Namespace, priority: l.opt.evictionPriority(s.req), tokens: s.tokens[:known:known], lease: s.lease,
	})
	s.lease = Lease{}
}

// unlock returns the lock of a candidate that was not admitted.
func (l *ledger) unlock(match *messages.PrefixLocked) {
	if match.Node != messages.RootNode {
		l.unlocks = append(l.unlocks, unlock{match.Node, len(match.Pages)})
	}
}

// giveBack adds released leases, locks and deferred frees to a plan. The whole pages of
// a lease go to the tree. The partial page and pages that were never written are freed.
func (l *ledger) giveBack(p *plan, done messages.StepID) {
	m := &p.commit
	for i := range l.released {
		g := &l.released[i]
		owned, whole := g.lease.Owned, paging.Whole(len(g.tokens), l.opt.PageSize)
		pages := g.lease.Pages
		row, private, node := g.lease.Release(done)
		l.rows.Give(row)
		if !l.opt.CacheDisabled && whole > owned {
			m.Inserts = append(m.Inserts, messages.PrefixInsert{
				ID: g.id, Namespace: g.namespace, Priority: g.priority, Tokens: g.tokens[:whole*l.opt.PageSize],
				Pages: pages[:whole:whole], Owned: owned, Node: node,
			})
			p.inserts = append(p.inserts, insertion{})
			m.Frees = append(m.Frees, pages[whole:]...)
			continue
		}
		m.Frees = append(m.Frees, private...)
		if node != messages.RootNode {
			m.Unlocks = append(m.Unlocks, node)
		}
	}
	clear(l.released)
	l.released = l.released[:0]
	l.deferred = slices.DeleteFunc(l.deferred, func(d deferredFrees) bool {
		if d.until <= done {
			m.Frees = append(m.Frees, d.pages...)
		}
		return d.until <= done
	})
	for _, u := range l.unlocks {
		m.Unlocks = append(m.Unlocks, u.node)
	}
	l.unlocks = l.unlocks[:0]
}

// take records the answer to a plan. shared: a running sequence's prefix was inserted.
func (l *ledger) take(p *plan, m *messages.PagesReserved) (shared bool) {
	if len(m.Inserted) != len(p.inserts) || len(m.Granted) != len(p.reserves) {
		invariants.Fail("plan %d asked for %d insertions and %d reservations and got %d and %d",
			m.Plan, len(p.inserts), len(p.reserves), len(m.Inserted), len(m.Granted))
	}
	for i, ins := range p.inserts {
		if ins.seq != nil {
			l.inserted(ins, m.Inserted[i])
			shared = true
		}
	}
	for i, s := range p.reserves {
		if m.Granted[i].ID != s.req.ID {
			invariants.Fail("plan %d granted pages to request %d instead of %d", m.Plan, m.Granted[i].ID, s.req.ID)
		}
		s.lease.Grow(m.Granted[i].Pages)
	}
	p.forget()
	l.free, l.cached = m.Free, m.Cached
	return shared
}

// inserted records the outcome of inserting a running sequence's prefix. From its next
// step on the row uses the tree's pages. Copies that a step still reads are freed later.
func (l *ledger) inserted(ins insertion, outcome messages.PrefixInserted) {
	s := ins.seq
	invariants.Check(outcome.ID == s.req.ID, "request %d was inserted instead of %d", outcome.ID, s.req.ID)
	from, to := outcome.First, outcome.First+len(outcome.Pages)
	if ins.copies && len(outcome.Pages) > 0 {
		l.deferred = append(l.deferred, deferredFrees{s.lease.LastStep, slices.Clone(s.lease.Pages[from:to])})
	}
	if !s.lease.Inserted(outcome, ins.pages) {
		return
	}
	if s.staleFrom < s.staleTo { // no step was launched since the last insertion
		from, to = min(from, s.staleFrom), max(to, s.staleTo)
	}
	s.staleFrom, s.staleTo = from, to
}

// check is invariants 1, unless a plan is out, 2 and 3.
func (l *ledger) check(running []*sequence, planOut bool) {
	if !planOut {
		// Between LockPrefixes and its answer the counters are old, but not their sum.
		n := l.free + l.cached.Evictable + l.cached.Protected + l.leased(running)
		invariants.Check(n == l.opt.Pages, "1: %d pages are accounted for, of %d", n, l.opt.Pages)
	}
	l.checkPages(running)
	invariants.Check(l.rows.Limit()-l.rows.Free() == len(running)+len(l.released),
		"3: %d rows are in use, %d sequences run, %d leases are released", l.rows.Limit()-l.rows.Free(), len(running), len(l.released))
}

func (l *ledger) checkPages(running []*sequence) {
	private := make(map[messages.Page]messages.RequestID)
	take := func(id messages.RequestID, pages []messages.Page) {
		for _, p := range pages {
			other, taken := private[p]
			invariants.Check(!taken, "2: page %d is private to requests %d and %d", p, other, id)
			private[p] = id
		}
	}
	for _, s := range running {
		take(s.req.ID, s.lease.Private())
	}
	for i := range l.released {
		take(l.released[i].id, l.released[i].lease.Private())
	}
	for _, d := range l.deferred {
		take(0, d.pages)
	}
	for _, s := range running {
		for _, p := range s.lease.Pages[:s.lease.Owned] {
			other, taken := private[p]
			invariants.Check(!taken, "2: page %d is in the tree for request %d and private to %d", p, s.req.ID, other)
		}
	}
}
