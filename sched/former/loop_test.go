package former

import (
	"strings"
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
		"refused": func(s *script) { s.former.Handle(0, &messages.PagesRefused{Plan: 1}, &s.out) },
		"reserved while resting": func(s *script) {
			s.former.Handle(0, &messages.PagesReserved{Plan: s.former.plan.id}, &s.out)
		},
		"done while resting":         func(s *script) { s.former.Handle(0, &messages.BatchDone{}, &s.out) },
		"offered while resting":      func(s *script) { s.former.Handle(0, &messages.CandidatesOffered{}, &s.out) },
		"an audit that was not sent": func(s *script) { s.former.Handle(0, &messages.AuditSlots{}, &s.out) },
		"a request without room":     func(s *script) { s.play([]string{"enqueue", "1", "prompt=1*3", "max=0"}) },
		"a prompt beyond the pool":   func(s *script) { s.play([]string{"enqueue", "1", "prompt=1*40", "max=4"}) },
		"a token too few": func(s *script) {
			s.play([]string{"enqueue", "1", "prompt=1*3"})
			s.former.Handle(0, &messages.BatchDone{Step: 1}, &s.out)
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

// A request that arrives while the next plan waits for the step in flight is planned
// at once.
func TestArrivalEndsTheWaitForAStep(t *testing.T) {
	s := newScript(t, []string{"page=4", "pages=30", "flight=2"})
	s.play([]string{"enqueue", "1", "prompt=1*5", "max=2"})
	s.play([]string{"done", "7"})
	if !s.former.flight.planBlocked {
		t.Fatal("the last token is sampled by the step in flight, and yet the next plan does not wait")
	}
	if log := s.play([]string{"enqueue", "2", "prompt=9*5"}); !strings.Contains(log, "runner Run 3") {
		t.Errorf("no step is launched beside the one in flight:\n%s", log)
	}
}

// A released lease ends the head-of-line block and the wait for a step, and tells the
// device of the row.
func TestRelease(t *testing.T) {
	f := New(options(nil))
	row, _ := f.pages.rows.Take()
	s := sequenceOf(1, 8, 0, nil)
	f.batch.admit(s, row, &messages.PrefixLocked{}, 0)
	s.opened = true
	f.admission.block, f.flight.planBlocked = headOfLineBlock{7, 9}, true
	f.release(s)
	if f.admission.block != (headOfLineBlock{}) || f.flight.planBlocked || len(f.flight.closedRows) != 1 || f.batch.byRow[row] != nil || len(f.pages.released) != 1 {
		t.Errorf("block %v, blocked %t, rows %v", f.admission.block, f.flight.planBlocked, f.flight.closedRows)
	}
}
