package dispatch

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

func newWaiting(t failer, wait time.Duration) *scene {
	return &scene{t: t, Core: New(1, Options{ResumeWait: wait, Route: route.Options{Policy: route.RoundRobin, PageSize: 16}})}
}

// pass lets time pass and hands over the timers that are due, one after the other.
func (s *scene) pass(d time.Duration) (sends []messages.Send) {
	end := s.now + d
	for {
		slices.SortStableFunc(s.timers, func(a, b timer) int { return int(a.at - b.at) })
		if len(s.timers) == 0 || s.timers[0].at > end {
			s.now = end
			return sends
		}
		due := s.timers[0]
		s.timers = s.timers[1:]
		s.now = due.at
		sends = append(sends, slices.Clone(s.step(due.msg))...)
	}
}

// unavailable are the ends of a kind in some messages.
func unavailable(sends []messages.Send) map[messages.RequestID]string {
	why := map[messages.RequestID]string{}
	for _, m := range all[*messages.StepResults](sends) {
		for _, e := range m.Ended {
			if e.Reason == messages.EndUnavailable {
				why[e.ID] = e.Why
			}
		}
	}
	return why
}

// A gateway without engines ends its requests after ResumeWait, counted from the loss of the
// last engine, and new ones at once.
func TestRequestsEndWithoutAnEngine(t *testing.T) {
	s := newWaiting(t, 2*time.Minute)
	if m := only[*messages.EpochStarted](t, s.step(&messages.ResumeDue{}), messages.Intake); m.Header != s.own || !m.Isolates {
		t.Errorf("intake may submit by %+v", m)
	}
	s.submit(1)
	s.pass(90 * time.Second)
	s.submit(2)
	if sends := s.pass(29 * time.Second); len(sends) > 0 {
		t.Fatalf("too early: %v", sends)
	}
	s.step(&messages.FinishRequests{Header: s.own, IDs: []messages.RequestID{2}})
	const want = "no engine of this model has been available for 2m0s (cluster-resume-wait); send the request again later"
	if why := unavailable(s.pass(time.Second)); len(why) != 1 || why[1] != want {
		t.Fatalf("after two minutes %v", why)
	}
	s.pass(time.Hour)
	if why := unavailable(s.step(&messages.EnqueueRequests{Header: s.own, Requests: []*messages.EngineRequest{request(3), quarantined(4)}})); len(why) != 2 || why[3] != want {
		t.Errorf("new requests end by %v", why)
	}
	s.join(0, messages.EngineFacts{})
	s.up(0, 1)
	if to := s.submit(5); to[5] != 0 {
		t.Errorf("with an engine, it goes to %v", to)
	}
	s.step(&messages.EngineLeft{Engine: 0})
	s.submit(5)
	if sends := s.pass(2*time.Minute - 1); len(sends) > 0 {
		t.Errorf("the wait did not begin again: %v", sends)
	}
	if why := unavailable(s.pass(1)); why[5] != want {
		t.Errorf("then it ends by %v", why)
	}
}

// The wait is for an engine that can take the request. It does not count while one is
// only kept for a quarantined request.
func TestRequestsEndWithoutTheirEngine(t *testing.T) {
	s := newWaiting(t, time.Minute)
	s.join(0, messages.EngineFacts{Fingerprint: "avx2", PoolTokens: 100})
	s.up(0, 1)
	begun, large := request(1), request(2)
	begun.Output, begun.Fingerprint = []int32{7}, "cuda"
	large.Params = &messages.SamplingParams{MaxTokens: 98}
	s.step(&messages.EnqueueRequests{Header: s.own, Requests: []*messages.EngineRequest{begun, large}})
	s.pass(30 * time.Second)
	s.join(1, messages.EngineFacts{Fingerprint: "cuda", PoolTokens: 20})
	s.up(1, 1) // and gets the first one, for a while
	s.step(&messages.EpochEnded{Header: header(1, 1)})
	s.step(&messages.EnqueueRequests{Header: s.own, Requests: []*messages.EngineRequest{begun}})
	s.submitAlone(9)
	s.submit(3)
	why := unavailable(s.pass(59 * time.Second))
	if len(why) != 1 || why[2] != "no engine whose KV pool holds 101 tokens has been available for 1m0s (cluster-resume-wait); send the request again later" {
		t.Errorf("within a minute: %v", why)
	}
	why = unavailable(s.pass(time.Hour))
	if len(why) != 1 || why[1] != `no engine with the fingerprint "cuda" that began this answer has been available for 1m0s (cluster-resume-wait); send the request again later` {
		t.Errorf("within an hour: %v", why)
	}
	if len(s.held) != 1 || s.held[0].ID != 3 || len(s.since) > 0 {
		t.Errorf("held are %v", s.held)
	}
}

// Without a limit nothing ends, and intake waits for the first engine.
func TestNoLimitOfTheWait(t *testing.T) {
	s := newScene(t, 1)
	s.submit(1)
	if sends := s.pass(1000 * time.Hour); len(sends) > 0 || s.started {
		t.Errorf("waiting causes %v", sends)
	}
}

// A new incarnation lets intake submit again, once.
func TestStartingOverWithoutEngines(t *testing.T) {
	s := newWaiting(t, time.Minute)
	sends := s.step(&messages.FailEpoch{Header: s.own})
	if len(sends) != 2 || sends[0].Msg.(*messages.EpochEnded).Epoch != 1 || sends[1].Msg.(*messages.EpochStarted).Epoch != 2 {
		t.Errorf("intake hears %v", sends)
	}
}

func TestResumeWaitIsRefused(t *testing.T) {
	o := Options{ResumeWait: -1, Route: route.Options{PageSize: 16}}
	if err := o.Validate(); err == nil || err.Error() != "cluster-resume-wait is -1ns; it must be at least 0" {
		t.Errorf("got %v", err)
	}
}
