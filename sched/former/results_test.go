package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// Each row takes its own tokens off a step's results, or its failure, in the order of
// the work. Too many or too few are a broken invariant.
func TestResultsAreCutByRow(t *testing.T) {
	work := func(row messages.Row, sample int) *rowWork {
		return &rowWork{seq: &sequence{lease: Lease{Row: row}}, sample: sample, certain: sample == 1 && row < 6}
	}
	tokens := func(rows ...messages.Row) (list []messages.SampledToken) {
		for _, row := range rows {
			list = append(list, messages.SampledToken{Row: row})
		}
		return list
	}
	r := stepResults{tokens(4, 4, 1, 2), []messages.RowFailed{{Row: 3, Reason: "no token"}}, []messages.Row{7, 5}}
	for _, c := range []struct {
		row            messages.Row
		sample, tokens int
		failed         bool
	}{{4, 3, 2, false}, {1, 1, 1, false}, {3, 1, 0, true}, {7, 1, 0, false}, {2, 2, 1, false}} {
		if sampled, failed := r.cut(work(c.row, c.sample)); len(sampled) != c.tokens || (failed != nil) != c.failed {
			t.Errorf("row %d of at most %d: %d tokens, failed %t", c.row, c.sample, len(sampled), failed != nil)
		}
	}
	invariantstest.MustFail(t, "row 5 got 0 tokens, asked for were 1 to 1", func() { r.cut(work(5, 1)) }) // it has no grammar
	if len(r.sampled)+len(r.failed) != 0 || len(r.late) != 1 {
		t.Errorf("%d tokens and %d failures are left", len(r.sampled), len(r.failed))
	}
	invariantstest.MustFail(t, "row 4 got 0 tokens, asked for were 1 to 2", func() { r.cut(work(4, 2)) })
	r.sampled = tokens(4, 4, 4)
	invariantstest.MustFail(t, "row 4 got 3 tokens, asked for were 1 to 2", func() { r.cut(work(4, 2)) })
	r.sampled = tokens(5)
	invariantstest.MustFail(t, "row 4 got 0 tokens", func() { r.cut(work(4, 2)) })
}

// A row with a grammar may be late: it gets no token, and computes its last one again. Until
// that is known, it is not computed, and the page of that token is not given to the cache.
func TestLateRows(t *testing.T) {
	o := options(func(o *Options) { o.GrammarTokensPerStep = 3 })
	f := newInFlight(&o)
	s := sequenceOf(1, 8, 0, func(r *messages.EngineRequest) { r.Params.Grammar = &messages.Grammar{} })
	s.start(0, messages.PrefixLocked{}, 4)
	s.lease.Grow(make([]messages.Page, 3))
	c := &Core{opt: &o, flight: f}
	for i, step := range []struct{ count, start, sample, tokens, done int }{
		{8, 0, 3, 0, 7}, {1, 7, 3, 0, 7}, {1, 7, 3, 2, 9}, {1, 9, 3, 1, 10}, {1, 10, 2, 0, 10},
	} {
		st := f.begin()
		st.add(s, step.count, &o)
		w := st.batch.Work[0]
		if w.Start != step.start || w.Sample != step.sample || !s.uncertain || s.pending != 1 {
			t.Fatalf("step %d: works on %+v, uncertain %t, %d pending", i, w, s.uncertain, s.pending)
		}
		r := &messages.StepResults{}
		c.rowDone(&st.work[0], make([]messages.SampledToken, step.tokens), nil, r)
		if s.done != step.done || s.scheduled != step.done || s.uncertain || s.pending != 0 || len(r.Tokens) != step.tokens || s.reported != (i >= 2) {
			t.Fatalf("step %d: %d done, %d scheduled, uncertain %t, %d pending, %d tokens, reported %t", i, s.done, s.scheduled, s.uncertain, s.pending, len(r.Tokens), s.reported)
		}
		f.step, f.done = st.id, st.id
		f.retire()
	}
}

// A row may get as many tokens as the device samples, the request may still get, and
// its pages hold. It is not computed again before they are known.
func TestRowsOfSeveralTokens(t *testing.T) {
	for _, c := range []struct {
		perStep, most, pages int
		want                 int
	}{{1, 100, 4, 1}, {3, 100, 4, 3}, {3, 2, 4, 2}, {3, 100, 2, 1}, {9, 100, 3, 5}} {
		o := options(func(o *Options) { o.TokensPerStep = c.perStep })
		f := newInFlight(&o)
		s := sequenceOf(1, 8, 0, func(r *messages.EngineRequest) { r.Params.MaxTokens = c.most })
		s.start(0, messages.PrefixLocked{}, 4)
		s.lease.Grow(make([]messages.Page, c.pages))
		st := f.begin()
		st.add(s, 8, &o)
		if w := st.batch.Work[0]; w.Sample != c.want || s.pending != 1 || s.uncertain != (c.want > 1) {
			t.Errorf("%+v: samples %d, %d pending, uncertain %t", c, w.Sample, s.pending, s.uncertain)
		}
	}
}
