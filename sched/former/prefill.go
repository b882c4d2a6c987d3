package former

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/pace"
)

// prefill divides a step's prefill budget among the prompts in progress.
//
// Half of the budget belongs to the oldest prompt. So none waits for ever: every
// prompt becomes the oldest in the end. The rest goes to the prompt with the fewest
// tokens left, which makes the average wait shortest. The oldest prompt's half may be
// owed for up to one whole budget. So a short prompt that has just arrived gets a
// step to itself, and with small budgets prompts compute whole pages in turns.
type prefill struct {
	opt    *Options
	pacer  pace.Pacer
	oldest messages.RequestID // to which owed belongs
	owed   int                // tokens
	order  []*sequence        // reused
}

func newPrefill(opt *Options) prefill {
	return prefill{opt: opt, pacer: pace.New(pace.Options{Target: opt.InterTokenLatencyTarget, PageSize: opt.PageSize, ChunkSize: opt.ChunkedPrefillSize})}
}

// budget is how many prompt tokens a step computes: what decoding rows leave of both
// limits (SGLang's PrefillAdder with a mixed chunk, item 23), but at least a page, so
// that neither starves the other. Without chunks one prompt may exceed it.
func (p *prefill) budget(decoding int) int {
	budget, least := p.opt.MaxPrefillTokens-decoding, p.opt.PageSize
	if c := p.opt.ChunkedPrefillSize; c > 0 {
		budget, least = min(budget, c-decoding), min(least, c)
	}
	return max(budget, least)
}

func (p *prefill) collect(running []*sequence) []*sequence {
	p.order = p.order[:0]
	for _, s := range running {
		if s.state == prefilling {
			p.order = append(p.order, s)
		}
	}
	return p.order
}

// fill adds the prompts' share to a step, after its decoding rows.
func (p *prefill) fill(st *launchedStep, running []*sequence, out *messages.Outbox) {
	order := p.collect(running)
	if len(order) == 0 {
		return
	}
	budget := p.budget(len(st.batch.Work))
	if p.opt.ChunkedPrefillSize > 0 {
		p.addChunks(st, p.pacer.Allow(budget, p.pacer.Load(&st.batch.RunBatch), order[0].scheduled, out))
	} else {
		p.addWhole(st, budget)
	}
	clear(order)
}

// wantPages decides for which prompts the plan reserves pages: the oldest and the
// shortest ones, twice as much as the next step can compute, because some may end
// meanwhile. The pages of the others are counted as needed, but until their turn the
// cache keeps what is on them. A step computes only what has pages.
func (p *prefill) wantPages(running []*sequence) {
	order := p.collect(running)
	if len(order) == 0 {
		return
	}
	for _, s := range order {
		s.wanted = s.scheduled
	}
	budget := p.budget(0)
	want := func(s *sequence) int {
		n := s.rest()
		if p.opt.ChunkedPrefillSize > 0 {
			n = min(n, budget)
		}
		s.wanted = s.scheduled + n
		return n
	}
	want(order[0])
	slices.SortStableFunc(order[1:], shorterRest)
	left := 2 * budget
	for _, s := range order[1:] {
		if left -= want(s); left <= 0 {
			break
		}
	}
	clear(order)
}

// withoutPages is how many sequences wait for pages.
func (p *prefill) withoutPages(running []*sequence) (n int) {
	for _, s := range running {
		if s.state == prefilling && s.computable(p.opt.PageSize) < s.rest() || !s.late && s.outgrown(p.opt) {
			n++
		}
	}
	return n
}

// addWhole computes prompts without chunks: the oldest one in any case, others if they
// fit beside it. If the oldest one has no pages, because the prompts for which the plan
// reserved pages have ended since, the first one with pages is computed.
func (p *prefill) addWhole(st *launchedStep, budget int) {
	idle := true
	slices.SortStableFunc(p.order[1:], shorterRest)
	for _, s := range p.order {
		if n := s.rest(); n <= s.computable(p.opt.PageSize) && (idle || n <= budget) {
			st.add(s, n, p.opt)
			budget, idle = budget-n, false
		}
	}
}

// addChunks cuts prompts so that they fill what is allowed.
func (p *prefill) addChunks(st *launchedStep, left pace.Allowance) {
	oldest, size := p.order[0], p.opt.PageSize
	budget := left.Most(oldest.scheduled)
	due := p.due(oldest.req.ID, budget, len(p.order))
	slices.SortStableFunc(p.order, shorterRest)
	// The oldest one's share is kept until its turn comes.
	kept, idle := chunk(oldest, min(due, budget, oldest.computable(size)), budget, size), true
	for _, s := range p.order {
		allowed := left
		if s == oldest {
			kept = 0
		} else if kept > 0 {
			allowed = left.Without(oldest.scheduled, kept)
		}
		start := s.scheduled
		most := allowed.Most(start)
		if idle && kept == 0 {
			budget = most // nothing is computed yet: use all that fits
		}
		n := chunk(s, min(most, s.computable(size)), budget, size)
		if n <= 0 {
			continue
		}
		st.add(s, n, p.opt)
		left, idle = left.Without(start, n), false
		if s == oldest {
			p.owed = max(0, p.owed-n)
		}
	}
}

// due adds the oldest prompt's half to what it is owed, and returns this step's share.
func (p *prefill) due(oldest messages.RequestID, budget, prompts int) int {
	if p.oldest != oldest {
		p.oldest, p.owed = oldest, 0
	}
	if prompts == 1 {
		return budget
	}
	half := (budget + 1) / 2
	p.owed = min(p.owed+half, 2*budget)
	return max(0, p.owed-budget)
}

func shorterRest(a, b *sequence) int { return cmp.Compare(a.rest(), b.rest()) }

// chunk is how many tokens of a prompt are computed when left tokens of a step's
// budget are left. An unfinished chunk ends with a page, since only whole pages
// can be shared, unless that would waste more than half of the budget.
func chunk(s *sequence, left, budget, pageSize int) int {
	n := s.rest()
	if n <= left {
		return n
	}
	whole := max(0, (s.scheduled+left)/pageSize*pageSize-s.scheduled)
	if 2*(left-whole) > budget {
		return left
	}
	return whole
}
