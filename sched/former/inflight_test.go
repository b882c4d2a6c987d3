package former

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// flying is two steps in flight: the first computes a prompt of 8 tokens, the second
// the token that the first one samples.
func flying() (*inFlight, *batch, *sequence) {
	o := options(func(o *Options) { o.StepsInFlight = 2 })
	f, b := newInFlight(&o), newBatch(&o)
	s := sequenceOf(1, 8, 0, nil)
	b.byID[1] = s
	b.admit(s, 2, &messages.PrefixLocked{}, 0)
	s.lease.Grow([]messages.Page{5, 6, 7})
	for _, count := range []int{8, 1} {
		st := f.begin()
		st.add(s, count, &o)
		st.batch.addChanges(s)
		f.step = st.id
	}
	return &f, &b, s
}

// What a step tells the runner, and what is known of a sequence then.
func TestStepsInFlight(t *testing.T) {
	f, b, s := flying()
	f.check(b, nil, false)
	if s.state != decoding || s.scheduled != 9 || s.pending != 2 || s.lease.LastStep != 2 || s.prefillStep != 1 {
		t.Errorf("%s, %d scheduled, %d pending, last step %d", s.state, s.scheduled, s.pending, s.lease.LastStep)
	}
	first, second := f.steps[0].batch, f.steps[1].batch
	if len(first.Opened) != 1 || len(first.Grown) != 1 || !slices.Equal(first.Grown[0].Pages, []messages.Page{5, 6, 7}) || len(second.Opened)+len(second.Grown) != 0 {
		t.Errorf("the first step has %+v and %+v, the second %+v and %+v", first.Opened, first.Grown, second.Opened, second.Grown)
	}
	if want := (messages.RowWork{Row: 2, Start: 8, Count: 1, Sample: 1}); second.Work[0] != want {
		t.Errorf("the second step computes %+v, want %+v", second.Work[0], want)
	}
	s.staleFrom, s.staleTo = 1, 2
	if second.addChanges(s); len(second.Replaced) != 1 || second.Replaced[0].First != 1 || !slices.Equal(second.Replaced[0].Pages, []messages.Page{6}) || s.staleTo != 0 {
		t.Errorf("replaced %+v", second.Replaced)
	}
}

// The memory of a step is used again, without references to requests; no more steps
// are in flight than may be.
func TestStepsAreReused(t *testing.T) {
	f, _, _ := flying()
	if !f.full() || f.idle() {
		t.Error("two steps are in flight, and another one may be planned")
	}
	invariantstest.MustFail(t, "a step is launched while 2 are in flight", func() { f.begin() })
	if got := f.requests(2); !slices.Equal(got, []messages.RequestID{1}) || f.requests(3) != nil {
		t.Errorf("step 2 computes %v, step 3 %v", got, f.requests(3))
	}
	memory := f.steps[0].batch
	f.done = 1
	f.retire()
	if work := f.steps[:2][1].work; memory.Opened[0].Request != nil || work[0].seq != nil {
		t.Error("a step that is done keeps references to requests")
	}
	if len(f.steps) != 1 || f.steps[0].id != 2 || f.full() {
		t.Errorf("%d steps are in flight", len(f.steps))
	}
	if f.block(); !f.full() {
		t.Error("blocked, and another step may be planned")
	}
	if st := f.begin(); st.batch != memory || len(st.batch.Work)+len(st.batch.Opened)+len(st.work) != 0 || st.id != 3 {
		t.Errorf("step %d has %+v", st.id, st.batch.RunBatch)
	}
	f.cancel()
	f.retire()
	invariantstest.MustFail(t, "none is in flight", f.block)
}

func TestInFlightViolations(t *testing.T) {
	for _, c := range []struct {
		what   string
		damage func(f *inFlight, b *batch, s *sequence)
	}{
		{"9: steps 2 to 2 are in flight, 2 are listed", func(f *inFlight, _ *batch, _ *sequence) { f.done = 1 }},
		{"9: request 1 is computed in step 1 without its row", func(_ *inFlight, b *batch, _ *sequence) { b.byRow[2] = nil }},
		{"9: request 1 has 10 of 10 tokens scheduled and 2 pending", func(_ *inFlight, _ *batch, s *sequence) { s.scheduled = 10 }},
		{"9: request 1 has 9 of 9 tokens scheduled and 1 pending", func(_ *inFlight, _ *batch, s *sequence) { s.pending = 1 }},
		{"9: it is not known how many tokens request 1 gets: true, by its steps false", func(_ *inFlight, _ *batch, s *sequence) { s.uncertain = true }},
		{"9: request 1 is computed in step 2, after one of which it is not known", func(f *inFlight, _ *batch, _ *sequence) { f.steps[0].work[0].certain = false }},
		{"9: results of a step are held without a reason", func(f *inFlight, _ *batch, _ *sequence) { f.heldResult = &messages.BatchDone{Step: 1} }},
		{"9: the batch former waits for a step", func(f *inFlight, b *batch, _ *sequence) {
			f.steps, f.done, b.running, f.planBlocked = f.steps[:0], f.step, nil, true
		}},
	} {
		f, b, s := flying()
		c.damage(f, b, s)
		invariantstest.MustFail(t, c.what, func() { f.check(b, nil, false) })
	}
	f, b, s := flying()
	invariantstest.MustFail(t, "6: request 1 releases its lease too early", func() { f.check(b, []releasedLease{{id: 1, lease: s.lease}}, false) })
}
