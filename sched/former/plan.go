package former

import (
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// plan is the plan of the next step. Each CommitPlan has its own id.
type plan struct {
	id        messages.PlanID
	commit    messages.CommitPlan // its memory is used again for each plan
	inserts   []insertion         // of commit, in its order
	reserves  []*sequence         // of commit, in its order
	retracted bool                // a sequence was retracted: none is admitted
	spare     int                 // pages beyond what the step needs; below 0: missing
}

// insertion is a prefix that commit inserts. seq is nil for that of a released lease.
type insertion struct {
	seq    *sequence
	pages  int
	copies bool // pages that the tree already has come back
}

// begin starts an empty CommitPlan, in the memory of the last one.
func (p *plan) begin() *messages.CommitPlan {
	m := &p.commit
	clear(m.Inserts)
	*m = messages.CommitPlan{Plan: p.id, Inserts: m.Inserts[:0], Unlocks: m.Unlocks[:0], Frees: m.Frees[:0], Reserves: m.Reserves[:0]}
	return m
}

// forget drops what the CommitPlan was about, once it is answered.
func (p *plan) forget() {
	clear(p.inserts)
	clear(p.reserves)
	p.inserts, p.reserves = p.inserts[:0], p.reserves[:0]
}

func (p *plan) empty() bool {
	m := &p.commit
	return len(m.Inserts)+len(m.Unlocks)+len(m.Frees)+len(m.Reserves) == 0
}

// insertPrefixes shares the whole pages that running prefills have computed.
//
// Copies of pages that the tree already has are freed, unless a step still reads them.
// The tree's own pages may have been evictable and get locked, so such an insertion may
// take as many pages as it inserts. It is made only while the plan has pages to spare,
// otherwise when the step is done.
//
// No lease changes while the plan is out, so the cache may look at its pages. A copy
// with every chunk would cost quadratic time.
func (p *plan) insertPrefixes(running []*sequence, done messages.StepID, o *Options) {
	for _, s := range running {
		if !s.insertDue || !s.active() {
			continue
		}
		whole, copies := paging.Whole(s.done, o.PageSize), !s.lease.Settled(done)
		if n := whole - s.lease.Owned; copies {
			if n > p.spare {
				s.insertPostponed = true
				continue
			}
			p.spare -= n
		}
		s.insertDue, s.insertPostponed = false, false
		tokens := whole * o.PageSize
		p.commit.Inserts = append(p.commit.Inserts, messages.PrefixInsert{
			ID: s.req.ID, Namespace: s.req.Namespace, Priority: o.evictionPriority(s.req), Tokens: s.tokens[:tokens:tokens],
			Pages: s.lease.Pages[:whole:whole], Owned: s.lease.Owned, Node: s.lease.Node, Keep: true, KeepCopies: copies,
		})
		p.inserts = append(p.inserts, insertion{s, whole, copies})
	}
}

// A plan that must reserve pages for a decoding row reserves the pages of the next
// reserveAhead tokens, for every row that has pages for less than half of that. The
// steps until then need no CommitPlan, and the pages of a row are mostly consecutive.
// It does so only while these pages are at most 1/ampleShare of the spare ones, so
// that hardly anything is evicted or retracted for pages that are not needed yet.
const (
	reserveAhead = 16
	ampleShare   = 16
)

// reserve asks for the pages that the step needs, and evicts pages if fewer are free.
func (p *plan) reserve(running []*sequence, free int, o *Options) {
	m, total, ahead := &p.commit, 0, p.reservesAhead(running, o)
	for _, s := range running {
		n := s.missing(1, o)
		if ahead && s.state == decoding && s.missing(reserveAhead/2, o) > 0 {
			n = s.missing(reserveAhead, o)
		}
		if n > 0 {
			m.Reserves = append(m.Reserves, messages.PageReserve{ID: s.req.ID, Pages: n})
			p.reserves = append(p.reserves, s)
			total += n
		}
	}
	m.EvictPages = max(0, total-free-len(m.Frees))
}

// reservesAhead reports whether the plan reserves more for decoding rows than
// their next token: one of them needs a page, and enough pages are spare.
func (p *plan) reservesAhead(running []*sequence, o *Options) bool {
	rows, due := 0, false
	for _, s := range running {
		if s.state == decoding {
			rows++
			due = due || s.missing(1, o) > 0
		}
	}
	return due && rows*paging.Pages(reserveAhead, o.PageSize)*ampleShare <= p.spare
}
