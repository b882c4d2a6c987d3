package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestSuspects(t *testing.T) {
	s := newScript(t, []string{"page=2", "pages=30"})
	s.play([]string{"enqueue", "3", "prompt=1*5"})
	for _, c := range []struct {
		msg  messages.ToFormer
		want int
	}{
		{&messages.BatchDone{Step: 1}, 1}, {&messages.BatchFailed{Step: 1}, 1}, {&messages.AuditSlots{}, 0},
		{&messages.FinishRequests{IDs: []messages.RequestID{4, 5, 4}}, 2},
		{&messages.CandidatesOffered{Requests: []*messages.EngineRequest{{ID: 1}, {ID: 2}}}, 2},
		{&messages.PrefixesLocked{Matches: []messages.PrefixLocked{{ID: 1}}}, 1},
		{&messages.PagesReserved{Granted: []messages.PagesGranted{{ID: 1}}, Inserted: []messages.PrefixInserted{{ID: 1}, {ID: 2}}}, 2},
		{&messages.PagesRefused{}, 0},
	} {
		if got := s.former.Suspects(c.msg); len(got) != c.want {
			t.Errorf("%T: suspects %v, want %d", c.msg, got, c.want)
		}
	}
}

// A refusal in the second round, a message out of turn and a double enqueue are
// broken invariants.
func TestImpossibleMessagesPanic(t *testing.T) {
	for name, do := range map[string]func(*script){
		"refused": func(s *script) { s.former.Step(0, &messages.PagesRefused{Plan: 1}, &s.out) },
		"reserved while resting": func(s *script) {
			s.former.Step(0, &messages.PagesReserved{Plan: s.former.plan.id}, &s.out)
		},
		"done while resting":         func(s *script) { s.former.Step(0, &messages.BatchDone{}, &s.out) },
		"offered while resting":      func(s *script) { s.former.Step(0, &messages.CandidatesOffered{}, &s.out) },
		"an audit that was not sent": func(s *script) { s.former.Step(0, &messages.AuditSlots{}, &s.out) },
		"a request without room":     func(s *script) { s.play([]string{"enqueue", "1", "prompt=1*3", "max=0"}) },
		"a prompt beyond the pool":   func(s *script) { s.play([]string{"enqueue", "1", "prompt=1*40", "max=4"}) },
		"a token too few": func(s *script) {
			s.play([]string{"enqueue", "1", "prompt=1*3"})
			s.former.Step(0, &messages.BatchDone{Step: 1}, &s.out)
		},
		"enqueued twice": func(s *script) {
			s.held[messages.Former] = true
			s.play([]string{"enqueue", "1", "prompt=1*3"})
			s.play([]string{"enqueue", "1", "prompt=1*3"})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			do(newScript(t, []string{"page=2", "pages=16"}))
		}()
	}
}
