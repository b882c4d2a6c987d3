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

// A late row waits for its mask without a step, others go on meanwhile, and a held result may
// come after the news that the mask is ready.
func TestLateRowsWaitForTheirMask(t *testing.T) {
	s := newScript(t, []string{"page=4", "pages=30"})
	s.play([]string{"enqueue", "1", "prompt=1*5", "max=4", "grammar=1"})
	if log := s.play([]string{"done", "l"}); strings.Contains(log, "runner Run") || !s.former.flight.full() {
		t.Fatalf("a step is launched for a row whose mask is not ready:\n%s", log)
	}
	if log := s.play([]string{"enqueue", "2", "prompt=9*5", "max=3"}); !strings.Contains(log, "runner Run 2") {
		t.Fatalf("a request that arrives meanwhile does not start:\n%s", log)
	}
	if log := s.play([]string{"ready", "1"}); strings.Contains(log, "runner Run") {
		t.Fatalf("a step is launched beside the one in flight:\n%s", log)
	}
	if s.play([]string{"done", "7"}); len(s.steps) != 1 || len(s.steps[0].Work) != 2 || s.steps[0].Work[0].Start != 4 || s.steps[0].Work[0].Count != 1 {
		t.Fatalf("then the step has the work %+v", s.steps[0].Work)
	}
	s.play([]string{"done", "l", "8"})
	if len(s.steps) != 1 || len(s.steps[0].Work) != 1 {
		t.Fatalf("beside a late row the other goes on with %+v", s.steps)
	}
	s.play([]string{"ready", "99"}) // of no request
	s.play([]string{"done", "3"})   // the end of request 2
	if len(s.steps) != 0 {
		t.Fatalf("a step is launched before the mask is ready: %+v", s.steps[0].Work)
	}
	if log := s.play([]string{"ready", "1"}); !strings.Contains(log, "runner Run") {
		t.Fatalf("the mask is ready, and nothing is launched:\n%s", log)
	}
	s.play([]string{"done", "l"})
	if log := s.play([]string{"finish", "1"}); !strings.Contains(log, "Results") && len(s.former.batch.running) != 0 {
		t.Errorf("a late row does not end:\n%s", log)
	}
}

// The news about a mask may come while the result that calls for it is held.
func TestAMaskIsReadyBeforeTheHeldResult(t *testing.T) {
	s := newScript(t, []string{"page=4", "pages=30", "flight=2"})
	s.play([]string{"enqueue", "1", "prompt=1*5", "max=9", "grammar=1"})
	s.held[messages.Cache] = true
	s.play([]string{"enqueue", "2", "prompt=9*5", "max=3"})
	s.play([]string{"done", "l"})
	s.play([]string{"ready", "1"})
	s.play([]string{"let", "cache"})
	if q := s.former.batch.byID[1]; q == nil || q.late {
		t.Errorf("request 1 waits for ever: %+v", q)
	}
}
