package former

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// leased is a sequence that runs on pages, the first owned of them the tree's, with
// done tokens on pages of 4.
func leased(id messages.RequestID, row messages.Row, owned, done int, pages ...messages.Page) *sequence {
	s := sequenceOf(id, 40, 0, nil)
	s.state, s.done, s.scheduled = prefilling, done, done
	s.lease = Lease{state: leaseOpen, Row: row, Pages: pages, Owned: owned}
	if owned > 0 {
		s.lease.Node = messages.NodeID(id)
	}
	return s
}

func ledgerOf(change func(*Options)) (*ledger, *Options) {
	o := options(change)
	l := newLedger(&o)
	l.free, l.cached = 10, messages.CachePages{Evictable: 5, Protected: 7}
	return &l, &o
}

// What can be reserved now, and at best, and what counts as leased.
func TestReservable(t *testing.T) {
	for _, c := range []struct {
		name              string
		change            func(*ledger) []*sequence
		now, best, leased int
	}{
		{"nothing runs", func(*ledger) []*sequence { return nil }, 15, 15, 0},
		{"a running sequence", func(*ledger) []*sequence { return []*sequence{leased(1, 0, 2, 14, 1, 2, 3, 4)} }, 15, 15, 2},
		{"the tree may have what it inserts", func(*ledger) []*sequence {
			s := leased(1, 0, 1, 14, 1, 2, 3, 4)
			s.insertDue = true
			return []*sequence{s}
		}, 15, 17, 3},
		{"but not while a step reads it", func(*ledger) []*sequence {
			s := leased(1, 0, 1, 14, 1, 2, 3, 4)
			s.insertDue, s.lease.LastStep = true, 4
			return []*sequence{s}
		}, 15, 15, 3},
		{"a released lease", func(l *ledger) []*sequence {
			l.release(leased(1, 0, 3, 14, 1, 2, 3, 4), 3)
			return nil
		}, 16, 19, 1},
		{"pages that no step reads any more", func(l *ledger) []*sequence {
			l.deferred = []deferredFrees{{3, make([]messages.Page, 2)}, {4, make([]messages.Page, 1)}}
			return nil
		}, 17, 17, 3},
		{"locks of refused candidates", func(l *ledger) []*sequence {
			l.unlock(&messages.PrefixLocked{Node: 9, Pages: make([]messages.Page, 3)})
			l.unlock(&messages.PrefixLocked{})
			return nil
		}, 15, 18, 0},
	} {
		l, _ := ledgerOf(nil)
		running := c.change(l)
		if now, best, held := l.reservableNow(3), l.reservableAtBest(running, 3), l.leased(running); now != c.now || best != c.best || held != c.leased {
			t.Errorf("%s: %d now, %d at best, %d leased; want %d, %d, %d", c.name, now, best, held, c.now, c.best, c.leased)
		}
	}
}

// A released lease gives whole pages to the tree and frees the rest; without a cache
// it frees everything that it owns.
func TestGiveBack(t *testing.T) {
	for _, c := range []struct {
		name        string
		cacheOff    bool
		owned, done int
		inserts     []messages.Page
		frees       []messages.Page
		unlocks     int
	}{
		{"whole pages to the tree", false, 1, 11, []messages.Page{1, 2}, []messages.Page{3, 4}, 0},
		{"nothing new is whole", false, 2, 11, nil, []messages.Page{3, 4}, 1},
		{"nothing was computed", false, 0, 0, nil, []messages.Page{1, 2, 3, 4}, 0},
		{"without a cache", true, 0, 11, nil, []messages.Page{1, 2, 3, 4}, 0},
	} {
		l, _ := ledgerOf(func(o *Options) { o.CacheDisabled = c.cacheOff })
		row, _ := l.rows.Take()
		l.release(leased(1, row, c.owned, c.done, 1, 2, 3, 4), 0)
		if l.rows.Free() != 7 {
			t.Errorf("%s: the row is free before the plan", c.name)
		}
		p := plan{}
		m := p.begin()
		l.giveBack(&p, 0)
		var inserts []messages.Page
		for _, i := range m.Inserts {
			inserts = i.Pages
		}
		if !slices.Equal(inserts, c.inserts) || !slices.Equal(m.Frees, c.frees) || len(m.Unlocks) != c.unlocks || len(p.inserts) != len(m.Inserts) {
			t.Errorf("%s: inserts %v, frees %v, %d unlocks", c.name, inserts, m.Frees, len(m.Unlocks))
		}
		if l.rows.Free() != 8 || len(l.released) != 0 {
			t.Errorf("%s: %d rows are free, %d leases released", c.name, l.rows.Free(), len(l.released))
		}
	}
}

// The private pages of a row that the tree already has are freed once no step reads
// them, and the row's changes are sent with its next step.
func TestInsertedPagesAreReplaced(t *testing.T) {
	l, o := ledgerOf(nil)
	s := leased(1, 0, 1, 16, 1, 2, 3, 4)
	s.lease.LastStep, s.insertDue = 5, true
	p := plan{spare: 3}
	m := p.begin()
	p.insertPrefixes([]*sequence{s}, 4, o)
	if len(m.Inserts) != 1 || !m.Inserts[0].KeepCopies || p.spare != 0 {
		t.Fatalf("inserts %+v, %d spare", m.Inserts, p.spare)
	}
	if !l.take(&p, &messages.PagesReserved{Free: 3, Cached: messages.CachePages{Protected: 4},
		Inserted: []messages.PrefixInserted{{ID: 1, Node: 8, First: 1, Pages: []messages.Page{11, 12}}}}) {
		t.Error("nothing is shared")
	}
	if !slices.Equal(s.lease.Pages, []messages.Page{1, 11, 12, 4}) || s.staleFrom != 1 || s.staleTo != 3 || l.free != 3 || l.cached.Protected != 4 {
		t.Errorf("pages %v, stale [%d, %d)", s.lease.Pages, s.staleFrom, s.staleTo)
	}
	for _, step := range []struct {
		done  messages.StepID
		frees []messages.Page
	}{{4, nil}, {5, []messages.Page{2, 3}}, {6, nil}} {
		m = p.begin()
		if l.giveBack(&p, step.done); !slices.Equal(m.Frees, step.frees) {
			t.Errorf("after step %d %v are freed", step.done, m.Frees)
		}
	}
}

// A prefix that a step still reads is inserted only while pages are spare.
func TestInsertionIsPostponed(t *testing.T) {
	_, o := ledgerOf(nil)
	s := leased(1, 0, 1, 16, 1, 2, 3, 4)
	s.lease.LastStep, s.insertDue = 5, true
	for _, c := range []struct {
		done    messages.StepID
		spare   int
		inserts int
	}{{4, 2, 0}, {4, 3, 1}, {5, 0, 1}} {
		s.insertDue = true
		p := plan{spare: c.spare}
		m := p.begin()
		p.insertPrefixes([]*sequence{s}, c.done, o)
		if later := c.inserts == 0; len(m.Inserts) != c.inserts || s.insertPostponed != later || s.insertDue != later {
			t.Errorf("done %d, %d spare: %d insertions, postponed %t", c.done, c.spare, len(m.Inserts), s.insertPostponed)
		}
	}
}

// Pages are evicted only if free ones and those that the plan frees do not suffice.
func TestReserveEvictsWhatIsMissing(t *testing.T) {
	_, o := ledgerOf(nil)
	s := leased(1, 0, 0, 0)
	s.wanted = 40
	for _, c := range []struct{ free, frees, evict int }{{10, 0, 0}, {4, 3, 3}, {0, 0, 10}} {
		p := plan{}
		m := p.begin()
		m.Frees = make([]messages.Page, c.frees)
		if p.reserve([]*sequence{s}, c.free, o); m.EvictPages != c.evict || len(m.Reserves) != 1 || m.Reserves[0].Pages != 10 {
			t.Errorf("%d free and %d freed: evicts %d for %+v", c.free, c.frees, m.EvictPages, m.Reserves)
		}
	}
}

// The checks of the ledger find what its invariants forbid.
func TestLedgerViolations(t *testing.T) {
	for _, c := range []struct {
		what   string
		damage func(l *ledger, s *sequence)
	}{
		{"1: 64 pages", nil},
		{"1: 63 pages are accounted for", func(l *ledger, _ *sequence) { l.free-- }},
		{"2: page 2 is private to requests 1 and 1", func(_ *ledger, s *sequence) { s.lease.Pages[2] = 2 }},
		{"2: page 3 is private to requests 1 and 0", func(l *ledger, _ *sequence) {
			l.free--
			l.deferred = []deferredFrees{{9, []messages.Page{3}}}
		}},
		{"2: page 2 is in the tree for request 1 and private to 1", func(_ *ledger, s *sequence) { s.lease.Pages[0] = 2 }},
		{"3: 0 rows are in use", func(l *ledger, _ *sequence) { l.rows.Give(0) }},
	} {
		l, _ := ledgerOf(nil)
		row, _ := l.rows.Take()
		s := leased(1, row, 1, 4, 1, 2, 3)
		l.free = 64 - 5 - 7 - 2
		if c.damage == nil {
			l.check([]*sequence{s}, false)
			continue
		}
		c.damage(l, s)
		invariantstest.MustFail(t, c.what, func() { l.check([]*sequence{s}, false) })
	}
}
