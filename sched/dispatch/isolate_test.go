package dispatch

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func quarantined(id int) *messages.EngineRequest {
	r := request(id)
	r.Alone = true
	return r
}

func (s *scene) submitAlone(id int) []messages.Send {
	return s.step(&messages.EnqueueRequests{Header: s.own, Requests: []*messages.EngineRequest{quarantined(id)}})
}

// cancelled is what an engine sends for FinishRequests.
func cancelled(ids ...messages.RequestID) (ended []messages.RequestEnded) {
	for _, id := range ids {
		ended = append(ended, messages.RequestEnded{ID: id, Reason: messages.EndCancelled})
	}
	return ended
}

// all are the messages of a kind, in order.
func all[M any](sends []messages.Send) (list []M) {
	for _, send := range sends {
		if m, ok := send.Msg.(M); ok {
			list = append(list, m)
		}
	}
	return list
}

// An engine that fails can name requests that it no longer has, such as those of an old
// report. One that has moved away is not suspected.
func TestARequestThatMovedIsNotSuspected(t *testing.T) {
	s := newScene(t, 2)
	s.up(0, 1)
	s.up(1, 1)
	s.submit(1, 2, 3) // 1 and 3 on engine 0
	s.submitAlone(9)  // 2 leaves engine 1
	s.step(&messages.StepResults{Header: header(1, 1), Seq: 1, Ended: cancelled(2)})
	if to := s.submit(2); to[2] != 0 {
		t.Fatalf("request 2 goes to %v", to)
	}
	m := only[*messages.EpochEnded](t, s.step(&messages.EpochEnded{Header: header(1, 1), Suspects: []messages.RequestID{2, 9}}), messages.Intake)
	if !slices.Equal(m.Suspects, []messages.RequestID{9}) || !slices.Equal(m.Requests, []messages.RequestID{9}) {
		t.Errorf("intake gets %+v", m)
	}
}

// A quarantined request gets one engine to itself. The requests of that engine move to the
// other one, which goes on, and after its first token the engine is used as before.
func TestAQuarantinedRequestGetsAnEngineToItself(t *testing.T) {
	s := newScene(t, 2)
	s.up(0, 1)
	s.up(1, 1)
	s.submit(1, 2, 3) // 1 and 3 on engine 0
	sends := s.submitAlone(9)
	finish := only[*messages.FinishRequests](t, sends, messages.Queue)
	if finish.Header != header(1, 1) || !slices.Equal(finish.IDs, []messages.RequestID{2}) {
		t.Fatalf("the engine with the least work releases %+v", finish)
	}
	if to := s.submit(4, 5); to[4] != 0 || to[5] != 0 {
		t.Errorf("new requests go to %v while engine 1 is kept", to)
	}
	sends = s.step(&messages.StepResults{Header: header(1, 1), Seq: 1, Ended: cancelled(2)})
	if to := given(sends); len(to) != 1 || to[9] != 1 {
		t.Fatalf("when engine 1 is empty, it gets %v", to)
	}
	if back := all[*messages.EpochEnded](sends); len(back) != 1 || !slices.Equal(back[0].Requests, []messages.RequestID{2}) || back[0].Suspects != nil {
		t.Fatalf("intake gets back %+v", back)
	}
	if to := s.submit(2); to[2] != 0 {
		t.Errorf("request 2 goes to %v", to)
	}
	if sends := s.submitAlone(10); len(sends) > 0 {
		t.Errorf("a second one causes %v", sends)
	}
	sends = s.step(&messages.StepResults{Header: header(1, 1), Seq: 2, Prompts: []messages.PromptResult{{ID: 9}}, Tokens: []messages.TokenResult{{ID: 9}}})
	finish = all[*messages.FinishRequests](sends)[0]
	if finish.Header != header(1, 1) || !slices.Equal(finish.IDs, []messages.RequestID{9}) {
		t.Errorf("for the second one, %+v is released", finish)
	}
	sends = s.step(&messages.StepResults{Header: header(1, 1), Seq: 3, Ended: cancelled(9)})
	if to := given(sends); to[10] != 1 {
		t.Errorf("the second one goes to %v", to)
	}
	sends = s.step(&messages.StepResults{Header: header(1, 1), Seq: 4, Ended: []messages.RequestEnded{{ID: 10, Reason: messages.EndFailed}}})
	if finish := all[*messages.FinishRequests](sends); len(finish) != 1 || finish[0].Header != header(0, 1) || len(finish[0].IDs) != 2 {
		t.Errorf("afterwards engine 1 gets its part of what waits by %+v", finish)
	}
}

// With one engine the others are held meanwhile. If the engine dies, intake hears of one
// suspect, whether its admission was reported or not.
func TestWithOneEngineTheOthersAreHeld(t *testing.T) {
	s := newScene(t, 0)
	s.join(0, messages.EngineFacts{})
	s.up(0, 1)
	s.submit(1, 2)
	s.step(&messages.StepResults{Header: header(0, 1), Seq: 1, Admitted: []messages.RequestID{1}})
	if finish := only[*messages.FinishRequests](t, s.submitAlone(9), messages.Queue); !slices.Equal(finish.IDs, []messages.RequestID{1, 2}) {
		t.Fatalf("the engine releases %+v", finish)
	}
	s.step(&messages.StepResults{Header: header(0, 1), Seq: 2, Ended: cancelled(1)})
	if to := s.submit(1); len(to) > 0 {
		t.Errorf("request 1 goes to %v", to)
	}
	if to := given(s.step(&messages.StepResults{Header: header(0, 1), Seq: 3, Ended: cancelled(2)})); len(to) != 1 || to[9] != 0 {
		t.Fatalf("the empty engine gets %v", to)
	}
	s.step(&messages.EngineReported{Header: header(0, 0), Gateways: 1})
	s.submit(2)
	died := only[*messages.EpochEnded](t, s.step(&messages.EngineLeft{Engine: 0, Cause: "killed"}), messages.Intake)
	if !died.Unsure || !slices.Equal(died.Suspects, []messages.RequestID{9}) || !slices.Equal(died.Requests, []messages.RequestID{9}) {
		t.Errorf("intake hears %+v", died)
	}
	s.join(0, messages.EngineFacts{})
	if to := given(s.up(0, 2)); len(to) != 2 || to[1] != 0 || to[2] != 0 {
		t.Errorf("the engine comes back and gets %v", to)
	}
}

// Requests of other gateways may be the cause, too. Then only what was admitted is suspected.
func TestSuspectsBesideOtherGateways(t *testing.T) {
	for gateways, want := range map[int]int{0: 0, 1: 1, 2: 0} {
		s := newScene(t, 0)
		s.join(0, messages.EngineFacts{})
		s.up(0, 1)
		s.step(&messages.EngineReported{Header: header(0, 0), Gateways: gateways})
		s.submit(1)
		died := only[*messages.EpochEnded](t, s.step(&messages.EngineLeft{Engine: 0}), messages.Intake)
		if len(died.Suspects) != want {
			t.Errorf("with %d gateways, intake hears of the suspects %v", gateways, died.Suspects)
		}
	}
}

// Intake ends a quarantined request before its engine is empty, or its engine is lost.
func TestIsolationEndsEarly(t *testing.T) {
	for name, end := range map[string]func(s *scene){
		"it is cancelled": func(s *scene) {
			s.step(&messages.FinishRequests{Header: s.own, IDs: []messages.RequestID{9}})
		},
		"its engine is lost": func(s *scene) {
			s.step(&messages.EpochEnded{Header: header(1, 1)})
			s.step(&messages.FinishRequests{Header: s.own, IDs: []messages.RequestID{9}})
			s.up(1, 2)
		},
		"all start over": func(s *scene) {
			s.step(&messages.FailEpoch{Header: s.own})
			s.up(0, 2)
			s.up(1, 2)
		},
	} {
		s := newScene(t, 2)
		s.up(0, 1)
		s.up(1, 1)
		s.submit(1, 2, 3)
		s.submitAlone(9)
		end(s)
		seen := map[int]bool{}
		for _, engine := range s.submit(11, 12, 13) {
			seen[engine] = true
		}
		if !seen[0] || !seen[1] {
			t.Errorf("%s: then requests go to the engines %v only", name, seen)
		}
	}
}

// When its engine is lost before it was empty, the request gets the other one.
func TestAQuarantinedRequestGetsTheNextEngine(t *testing.T) {
	s := newScene(t, 2)
	s.up(0, 1)
	s.up(1, 1)
	s.submit(1, 2, 3)
	s.submitAlone(9) // engine 1
	sends := s.step(&messages.EpochEnded{Header: header(1, 1)})
	finish := all[*messages.FinishRequests](sends)
	if len(finish) != 1 || finish[0].Header != header(0, 1) || len(finish[0].IDs) != 2 {
		t.Errorf("engine 0 releases %+v", finish)
	}
}
