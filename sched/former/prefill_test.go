package former

import (
	"testing"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// prompts is a batch former whose running sequences compute prompts and do nothing
// else.
type prompts struct {
	*Core
	ids messages.RequestID
}

func (p *prompts) add(tokens int) *sequence {
	p.ids++
	s := sequenceOf(p.ids, tokens, 0, nil)
	s.state = prefilling
	s.lease = OpenLease(messages.Row(p.ids), messages.PrefixLocked{}, p.opt.PageSize)
	s.lease.Grow(make([]messages.Page, paging.Pages(tokens, p.opt.PageSize)))
	p.batch.running = append(p.batch.running, s)
	return s
}

// step computes one step's share of prompts, by sequence.
func (p *prompts) step(decoding int) map[*sequence]int {
	p.flight.steps = p.flight.steps[:0]
	st := p.flight.begin()
	p.flight.step = st.id
	for range decoding {
		st.batch.Work = append(st.batch.Work, messages.RowWork{Count: 1, Start: 100, Sample: 1})
	}
	p.prefill.fill(st, p.batch.running, &messages.Outbox{})
	got := map[*sequence]int{}
	for i, w := range st.batch.Work[decoding:] {
		got[st.work[i].seq] = w.Count
	}
	left := p.batch.running[:0]
	for _, s := range p.batch.running {
		if s.rest() > 0 {
			left = append(left, s)
		}
	}
	p.batch.running = left
	return got
}

// Whatever comes, the oldest prompt gets half of every budget, late by two
// budgets at most; the budget is kept and never left idle; unfinished chunks
// end with a page.
func TestPrefillShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 4, 16, 64}).Draw(t, "page")
		opt := options(func(o *Options) {
			o.PageSize, o.MaxPrefillTokens = size, rapid.IntRange(1, 300).Draw(t, "prefill")
			o.ChunkedPrefillSize = rapid.IntRange(1, 300).Draw(t, "chunk")
		})
		p := &prompts{Core: New(opt)}
		var oldest *sequence
		var owed, got int
		for range 60 {
			for range rapid.IntRange(0, 2).Draw(t, "arrivals") {
				p.add(rapid.IntRange(1, 400).Draw(t, "tokens"))
			}
			if len(p.batch.running) == 0 {
				continue
			}
			if oldest != p.batch.running[0] {
				oldest, owed, got = p.batch.running[0], 0, 0
			}
			budget, rest := p.prefill.budget(0), oldest.rest()
			computed := p.step(0)
			total := 0
			for s, n := range computed {
				total += n
				if s.rest() > 0 && s.scheduled%size != 0 && 2*n <= budget {
					t.Fatalf("a chunk of %d tokens of a budget of %d ends within a page, at %d", n, budget, s.scheduled)
				}
			}
			if total == 0 || total > budget {
				t.Fatalf("%d tokens of a budget of %d", total, budget)
			}
			owed, got = owed+budget/2, got+computed[oldest]
			if got < min(owed-2*budget-size, rest) { // chunks end with pages
				t.Fatalf("the oldest prompt has got %d tokens of a share of %d, budget %d", got, owed, budget)
			}
		}
	})
}

// Shorter prompts go first, and a short one that comes behind long ones gets
// its first token in the next step, or in as many as it has budgets.
func TestShortPromptsPassLongOnes(t *testing.T) {
	for _, c := range []struct{ chunk, prompt, steps int }{
		{2048, 50, 1}, {64, 50, 1}, {32, 50, 2}, {20, 50, 3},
	} {
		p := &prompts{Core: New(options(func(o *Options) { o.PageSize, o.ChunkedPrefillSize = 1, c.chunk }))}
		for range 8 {
			p.add(100_000)
		}
		for range 10 {
			p.step(0)
		}
		s := p.add(c.prompt)
		steps := 0
		for ; s.rest() > 0; steps++ {
			p.step(0)
		}
		if steps != c.steps {
			t.Errorf("chunks of %d: a prompt of %d tokens behind long ones took %d steps, want %d", c.chunk, c.prompt, steps, c.steps)
		}
	}
}

// Under an endless stream of short prompts the long one goes on at half speed.
func TestLongPromptIsNotStarved(t *testing.T) {
	p := &prompts{Core: New(options(func(o *Options) { o.PageSize, o.ChunkedPrefillSize = 16, 512 }))}
	long := p.add(100_000)
	steps := 0
	for ; long.rest() > 0; steps++ {
		for range 4 {
			p.add(256)
		}
		p.step(32)
	}
	if want := 100_000 / ((512 - 32) / 2); steps > want*11/10 || steps < want {
		t.Errorf("a prompt of 100000 tokens took %d steps, want about %d", steps, want)
	}
}

// Prompts without chunks: the oldest in any case, and others that fit beside it.
func TestWholePrompts(t *testing.T) {
	p := &prompts{Core: New(options(func(o *Options) { o.ChunkedPrefillSize, o.MaxPrefillTokens = -1, 100 }))}
	first, long, short, huge := p.add(60), p.add(50), p.add(30), p.add(500)
	if got := p.step(0); got[first] != 60 || got[short] != 30 || len(got) != 2 {
		t.Errorf("the first step computes %v", got)
	}
	if got := p.step(0); got[long] != 50 || len(got) != 1 {
		t.Errorf("the second step computes %v", got)
	}
	if got := p.step(0); got[huge] != 500 {
		t.Errorf("the third step computes %v", got)
	}
}

func TestChunk(t *testing.T) {
	for _, c := range []struct {
		name                         string
		computed, rest, left, budget int
		want                         int
	}{
		{"the rest fits", 4, 3, 8, 8, 3},
		{"ends with a page", 0, 30, 7, 7, 4},
		{"a budget below a page is used", 0, 30, 3, 3, 3},
		{"most of a budget is used", 0, 30, 3, 5, 3},
		{"less than half of it is left", 0, 30, 3, 8, 0},
		{"from within a page to its end", 2, 30, 7, 8, 6},
		{"within a page", 1, 30, 2, 8, 0},
		{"nothing left", 0, 30, 0, 8, 0},
	} {
		s := sequenceOf(1, c.computed+c.rest, 0, nil)
		s.scheduled = c.computed
		if got := chunk(s, c.left, c.budget, 4); got != c.want {
			t.Errorf("%s: %d tokens, want %d", c.name, got, c.want)
		}
	}
}

// The numbers are those of SGLang's test of a mixed chunk.
func TestPrefillBudget(t *testing.T) {
	for _, c := range []struct{ prefill, chunk, decoding, want int }{
		{200, 64, 8, 56},
		{200, 64, 5, 59},
		{200, -1, 8, 192},
		{200, 64, 64, 4}, // never less than a page
		{200, 2, 64, 2},
		{60, 64, 8, 52},
	} {
		f := New(options(func(o *Options) { o.MaxPrefillTokens, o.ChunkedPrefillSize = c.prefill, c.chunk }))
		if got := f.prefill.budget(c.decoding); got != c.want {
			t.Errorf("%+v: budget %d", c, got)
		}
	}
}
