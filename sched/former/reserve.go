package former

import (
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// A plan that must reserve pages for decoding rows reserves for the next
// reserveAhead tokens of every row that has less than half of that, so that the
// steps until then need no plan at all: passing one around costs more than what
// is in it. And the pages that a row gets at once are mostly consecutive.
//
// It is done while the pages are no more than 1/ampleShare of those that the
// plan could spare. So next to nothing is evicted for pages that are not needed
// yet, and hardly anybody retracted: only where a prompt that comes right after
// takes nearly all that was spared.
const (
	reserveAhead = 16
	ampleShare   = 16
)

// reserve asks for the pages that the step needs and evicts what they lack.
func (f *Core) reserve(m *messages.CommitPlan) {
	total, ahead := 0, f.reservesAhead()
	for _, s := range f.running {
		n := f.missingOf(s, 1)
		if ahead && s.state == decoding && f.missingOf(s, reserveAhead/2) > 0 {
			n = f.missingOf(s, reserveAhead)
		}
		if n > 0 {
			m.Reserves = append(m.Reserves, messages.PageReserve{ID: s.req.ID, Pages: n})
			f.plan.reserves = append(f.plan.reserves, s)
			total += n
		}
	}
	m.EvictPages = max(0, total-f.free-len(m.Frees))
}

// reservesAhead reports whether this plan reserves more for decoding rows than
// their next token: one of them needs a page, and there are pages in plenty.
func (f *Core) reservesAhead() bool {
	rows, due := 0, false
	for _, s := range f.running {
		if s.state == decoding {
			rows++
			due = due || f.missingOf(s, 1) > 0
		}
	}
	return due && rows*paging.Pages(reserveAhead, f.opt.PageSize)*ampleShare <= f.plan.spare
}

// missing is how many pages the next step needs.
func (f *Core) missing() int { return f.missingAhead(1) }

// missingAhead is how many pages the running sequences need for their next
// steps.
func (f *Core) missingAhead(steps int) int {
	n := 0
	for _, s := range f.running {
		n += f.missingOf(s, steps)
	}
	return n
}

// missingOf is how many pages one sequence needs for its next steps: a prompt
// in progress what the plan reserves for it, however many steps there are.
func (f *Core) missingOf(s *sequence, steps int) int {
	switch s.state {
	case prefilling:
		return s.lease.Missing(s.wanted, f.opt.PageSize)
	case decoding:
		return max(0, s.pagesAfter(min(steps, s.ahead(f.opt.ContextLength)), f.opt.PageSize)-len(s.lease.Pages))
	}
	return 0
}
