package former

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/pace"
)

// prefillShares divides a step's prefill budget among the prompts in progress.
//
// Half of the budget is the oldest prompt's: nobody can be overtaken for ever,
// since the oldest one makes progress and everybody becomes the oldest in the
// end. Everything else goes to the prompt with the fewest tokens left, which is
// the order of the shortest average wait, so that a short prompt does not wait
// for long ones that came before it. The oldest's half may be owed for up to
// one whole budget, so that a short prompt that has just come gets the step to
// itself, and with small budgets whole pages can be computed in turns.
type prefillShares struct {
	oldest messages.RequestID // whose claim owed is
	owed   int                // tokens
	order  []*sequence        // reused
}

// prefillBudget is how many tokens of prompts a step computes beside decoding
// rows: what they leave of both limits (SGLang's PrefillAdder with a mixed
// chunk, item 23), but at least a page, so that neither starves the other.
// Without chunks one prompt may exceed it.
func (f *Core) prefillBudget(decoding int) int {
	budget, least := f.opt.MaxPrefillTokens-decoding, f.opt.PageSize
	if c := f.opt.ChunkedPrefillSize; c > 0 {
		budget, least = min(budget, c-decoding), min(least, c)
	}
	return max(budget, least)
}

// prefill adds the prompts' share of a step to it, behind decoding rows.
func (f *Core) prefill(b *batch, out *messages.Outbox) {
	p := &f.prefills
	p.order = p.order[:0]
	for _, s := range f.running {
		if s.state == prefilling {
			p.order = append(p.order, s)
		}
	}
	if len(p.order) == 0 {
		return
	}
	budget := f.prefillBudget(len(b.Work))
	if f.opt.ChunkedPrefillSize > 0 {
		f.prefillChunks(b, f.pacer.Allow(budget, f.pacer.Load(&b.RunBatch), p.order[0].scheduled, out))
	} else {
		f.prefillWhole(b, budget)
	}
	clear(p.order)
}

// wantPages decides for which prompts the plan reserves pages: for the oldest
// and for the shortest, as much as the next step can compute of them, twice over
// in case that some end meanwhile. The others have been admitted and their pages
// are counted as needed, but until their turn comes the cache keeps what is on
// them. prefill computes only what has pages.
func (f *Core) wantPages() {
	p := &f.prefills
	p.order = p.order[:0]
	for _, s := range f.running {
		if s.state == prefilling {
			s.wanted = s.scheduled
			p.order = append(p.order, s)
		}
	}
	if len(p.order) == 0 {
		return
	}
	budget := f.prefillBudget(0)
	want := func(s *sequence) int {
		n := s.rest()
		if f.opt.ChunkedPrefillSize > 0 {
			n = min(n, budget)
		}
		s.wanted = s.scheduled + n
		return n
	}
	want(p.order[0])
	slices.SortStableFunc(p.order[1:], shorterRest)
	left := 2 * budget
	for _, s := range p.order[1:] {
		if left -= want(s); left <= 0 {
			break
		}
	}
	clear(p.order)
}

// pagesFor is how many more tokens of a sequence have pages.
func (f *Core) pagesFor(s *sequence) int { return s.lease.Capacity(f.opt.PageSize) - s.scheduled }

// outgrown reports whether a decoding row has got more tokens, while the plan was
// out, than that reserved pages for. The next plan does.
func (f *Core) outgrown(s *sequence) bool {
	return f.opt.TokensPerStep > 1 && s.state == decoding && f.pagesFor(s) < 1
}

// withoutPages is how many sequences wait for pages.
func (f *Core) withoutPages() (n int) {
	for _, s := range f.running {
		if s.state == prefilling && f.pagesFor(s) < s.rest() || f.outgrown(s) {
			n++
		}
	}
	return n
}

// prefillWhole computes prompts uncut: the oldest in any case, others while
// they fit beside it. The oldest one may have no pages, if those for whom the
// plan reserved them have gone since; then the first that has goes.
func (f *Core) prefillWhole(b *batch, budget int) {
	order, idle := f.prefills.order, true
	slices.SortStableFunc(order[1:], shorterRest)
	for _, s := range order {
		if n := s.rest(); n <= f.pagesFor(s) && (idle || n <= budget) {
			f.work(b, s, n)
			budget, idle = budget-n, false
		}
	}
}

// prefillChunks cuts prompts so that they fill what is allowed.
func (f *Core) prefillChunks(b *batch, a pace.Allowance) {
	p := &f.prefills
	oldest := p.order[0]
	budget := a.Most(oldest.scheduled)
	due := p.due(oldest.req.ID, budget, len(p.order))
	slices.SortStableFunc(p.order, shorterRest)
	// The oldest one's share is kept until its turn comes.
	kept, idle := f.chunk(oldest, min(due, budget, f.pagesFor(oldest)), budget), true
	for _, s := range p.order {
		room := a
		if s == oldest {
			kept = 0
		} else if kept > 0 {
			room = a.Without(oldest.scheduled, kept)
		}
		start := s.scheduled
		most := room.Most(start)
		if idle && kept == 0 {
			budget = most // nothing is computed yet: whatever fits is used
		}
		most = min(most, f.pagesFor(s))
		n := f.chunk(s, most, budget)
		if n <= 0 {
			continue
		}
		f.work(b, s, n)
		a, idle = a.Without(start, n), false
		if s == oldest {
			p.owed = max(0, p.owed-n)
		}
	}
}

// due adds the oldest prompt's half of a budget to its claim and returns what
// it must get in this step.
func (p *prefillShares) due(oldest messages.RequestID, budget, prompts int) int {
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

// rest is how many known tokens are not scheduled yet.
func (s *sequence) rest() int { return len(s.tokens) - s.scheduled }

func shorterRest(a, b *sequence) int { return cmp.Compare(a.rest(), b.rest()) }

// chunk is how many tokens a prefilling sequence computes of what is left of a
// step's budget. An unfinished chunk ends with a page, since only whole pages
// can be shared, unless more than half of the budget would be lost by that.
func (f *Core) chunk(s *sequence, left, budget int) int {
	n := s.rest()
	if n <= left {
		return n
	}
	size := f.opt.PageSize
	whole := max(0, (s.scheduled+left)/size*size-s.scheduled)
	if 2*(left-whole) > budget {
		return left
	}
	return whole
}
