package former

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// The checks of the running batch find what its invariants forbid.
func TestBatchViolations(t *testing.T) {
	for _, c := range []struct {
		what   string
		damage func(b *batch, s *sequence)
	}{
		{"4: 1 sequences are cancelled or closing, 0 counted", func(_ *batch, s *sequence) { s.state = cancelled }},
		{"4: request 1 is gone and in the list of running ones", func(_ *batch, s *sequence) { s.state = gone }},
		{"4: request 1, decoding, does not have row 0", func(b *batch, _ *sequence) { b.byRow[0] = nil }},
		{"4: request 1, closing, does not have row 0", func(b *batch, s *sequence) { s.state, b.closing = closing, 1 }},
		{"4: 3 sequences by id, 1 run", func(b *batch, s *sequence) { b.byID[7] = s }},
		{"4: request 2 is decoding and retracted number 0", func(b *batch, _ *sequence) { b.retracted[0].state = decoding }},
		{"5: request 1 has 12 tokens, 11 scheduled, 12 done", func(_ *batch, s *sequence) { s.done = 12 }},
		{"5: request 1 has 12 tokens, 11 scheduled, 11 done, on 2 pages", func(_ *batch, s *sequence) { s.lease.Pages = s.lease.Pages[:2] }},
		{"5: request 1 is decoding with 10 of 12 tokens scheduled", func(_ *batch, s *sequence) { s.done, s.scheduled = 10, 10 }},
		{"7: a request that must run alone is one of 2", func(b *batch, s *sequence) {
			s.req.Alone, s.req.Output = true, make([]int32, 4)
			other := sequenceOf(3, 4, 1, nil)
			other.state, other.done, other.scheduled = decoding, 4, 4
			other.lease = Lease{Row: 1, Pages: make([]messages.Page, 2)}
			b.byID[3], b.byRow[1], b.running = other, other, append(b.running, other)
		}},
	} {
		f := New(options(nil))
		s := f.addRunning(8, 4, 0, nil)
		s.scheduled = s.done
		b := &f.batch
		b.byID[1], b.byRow[0] = s, s
		waiting := sequenceOf(2, 8, 0, nil)
		waiting.state = retracted
		b.byID[2], b.retracted = waiting, []*sequence{waiting}
		b.check()
		c.damage(b, s)
		invariantstest.MustFail(t, c.what, b.check)
	}
}

// Aging: a retracted sequence that has waited for long goes first, and is protected
// for as long once it runs.
func TestBatchAges(t *testing.T) {
	o := options(func(o *Options) { o.PriorityPreemption, o.Aging = true, time.Minute })
	b := newBatch(&o)
	for id, priority := range []int32{0, 5, 1} {
		s := sequenceOf(messages.RequestID(id+1), 8, 0, func(r *messages.EngineRequest) { r.Priority = priority })
		s.state, s.lease = prefilling, Lease{}
		b.byID[s.req.ID] = s
		b.retract(s, time.Duration(id)*time.Second)
	}
	order := func() (ids []messages.RequestID) {
		for _, s := range b.retracted {
			ids = append(ids, s.req.ID)
		}
		return ids
	}
	b.age(time.Minute - 1)
	if want := []messages.RequestID{2, 3, 1}; !slices.Equal(order(), want) {
		t.Fatalf("in the order %v, want %v", order(), want)
	}
	b.age(time.Minute)
	if want := []messages.RequestID{1, 2, 3}; !slices.Equal(order(), want) {
		t.Fatalf("after a minute in the order %v, want %v", order(), want)
	}
	s := b.retracted[0]
	b.admit(s, 3, &messages.PrefixLocked{}, time.Minute)
	if s.protectedUntil != 2*time.Minute || s.aged || s.state != prefilling || b.at(3) != s || len(b.retracted) != 2 {
		t.Errorf("admitted %+v, %d are retracted", s, len(b.retracted))
	}
	b.running = b.running[:0]
	b.byRow[3] = nil
	b.drop(b.retracted[0])
	if len(b.retracted) != 1 || b.byID[2] != nil {
		t.Errorf("%d are retracted, %v by id", len(b.retracted), b.byID)
	}
}
