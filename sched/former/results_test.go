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
		return &rowWork{seq: &sequence{lease: Lease{Row: row}}, sample: sample}
	}
	tokens := func(rows ...messages.Row) (list []messages.SampledToken) {
		for _, row := range rows {
			list = append(list, messages.SampledToken{Row: row})
		}
		return list
	}
	r := stepResults{tokens(4, 4, 1, 2), []messages.RowFailed{{Row: 3, Reason: "no token"}}}
	for _, c := range []struct {
		row            messages.Row
		sample, tokens int
		failed         bool
	}{{4, 3, 2, false}, {1, 1, 1, false}, {3, 1, 0, true}, {2, 2, 1, false}} {
		if sampled, failed := r.cut(work(c.row, c.sample)); len(sampled) != c.tokens || (failed != nil) != c.failed {
			t.Errorf("row %d of at most %d: %d tokens, failed %t", c.row, c.sample, len(sampled), failed != nil)
		}
	}
	if len(r.sampled)+len(r.failed) != 0 {
		t.Errorf("%d tokens and %d failures are left", len(r.sampled), len(r.failed))
	}
	invariantstest.MustFail(t, "row 4 got 0 tokens, asked for were 1 to 2", func() { r.cut(work(4, 2)) })
	r.sampled = tokens(4, 4, 4)
	invariantstest.MustFail(t, "row 4 got 3 tokens, asked for were 1 to 2", func() { r.cut(work(4, 2)) })
	r.sampled = tokens(5)
	invariantstest.MustFail(t, "row 4 got 0 tokens", func() { r.cut(work(4, 2)) })
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
