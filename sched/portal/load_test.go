package portal

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// reports lets the time of the next report come, and returns what the gateways hear.
func (s *scene) reports() map[messages.EngineID]messages.EngineReported {
	s.clock = s.due.At
	heard := map[messages.EngineID]messages.EngineReported{}
	for _, m := range sent[*messages.EngineReported](s.step(s.due), messages.Link) {
		heard[m.Engine] = *m
	}
	return heard
}

func (s *scene) prompt(gateway messages.Header, id, tokens int) messages.RequestID {
	m := &messages.EnqueueRequests{Header: gateway, Requests: []*messages.EngineRequest{{ID: messages.RequestID(id), Prompt: make([]int32, tokens)}}}
	return only[*messages.EnqueueRequests](s.t, s.step(m), messages.Queue).Requests[0].ID
}

// Each gateway hears of the requests of the others, in the state that they are in.
func TestGatewaysHearOfOthers(t *testing.T) {
	s := newScene(t)
	s.up(1)
	for slot := range 3 {
		s.step(&messages.GatewayJoined{Gateway: messages.EngineID(slot + 1)})
	}
	if first := s.reports(); len(first) != 3 || first[2].Others != (messages.EngineLoad{}) || first[2].Speed != 0 {
		t.Fatalf("at first they hear %+v", first)
	}
	one, two := s.prompt(at(1, 1), 1, 100), s.prompt(at(2, 1), 1, 30)
	s.prompt(at(2, 1), 2, 7)
	s.step(&messages.StepResults{Header: at(0, 1), Seq: 1, Admitted: []messages.RequestID{one, two}, Prompts: []messages.PromptResult{{ID: two}}})
	want := map[messages.EngineID]messages.EngineLoad{
		1: {Waiting: 1, WaitingTokens: 7, Running: 1, RunningTokens: 30},
		2: {Waiting: 1, WaitingTokens: 100},
		3: {Waiting: 2, WaitingTokens: 107, Running: 1, RunningTokens: 30},
	}
	for slot, m := range s.reports() {
		if m.Others != want[slot] || m.Gateways != 3 {
			t.Errorf("gateway %d hears of %+v, want %+v", slot, m.Others, want[slot])
		}
	}
	// What a gateway leaves behind is there until it is released. Of the prompts before,
	// a half was cached.
	s.step(&messages.GatewayLeft{Gateway: 1})
	s.step(&messages.StepResults{Header: at(0, 1), Seq: 2, Prompts: []messages.PromptResult{{ID: two, CachedTokens: 30}}})
	if m := s.reports()[3]; m.Others != (messages.EngineLoad{Waiting: 2, WaitingTokens: 53, Running: 1, RunningTokens: 30}) {
		t.Errorf("after gateway 1 has left, gateway 3 hears of %+v", m.Others)
	}
	s.step(&messages.StepResults{Header: at(0, 1), Seq: 3, Ended: []messages.RequestEnded{{ID: one, Reason: messages.EndCancelled}, {ID: two, Reason: messages.EndEOS}}})
	if m := s.reports()[3]; m.Others != (messages.EngineLoad{Waiting: 1, WaitingTokens: 3}) {
		t.Errorf("after the ends gateway 3 hears of %+v", m.Others)
	}
	s.step(&messages.EpochEnded{Header: at(0, 1)})
	if heard := s.reports(); len(heard) > 0 {
		t.Errorf("of an engine that is down they hear %v", heard)
	}
	s.up(2)
	if m := s.reports()[3]; m.Others != (messages.EngineLoad{}) {
		t.Errorf("of a new epoch they hear %+v", m)
	}
}

// The speed is that of the steps with prefill. Pauses, other steps and cached tokens do not
// count. It follows a change within some windows.
func TestSpeedOfPrefill(t *testing.T) {
	s := newScene(t)
	s.up(1)
	s.step(&messages.GatewayJoined{Gateway: 1})
	seq, id := uint64(0), 0
	step := func(took time.Duration, m messages.StepResults) {
		seq++
		m.Header, m.Seq, m.Step = at(0, 1), seq, messages.StepID(seq)
		s.clock += took
		s.step(&m)
	}
	speed := func() float64 { return s.reports()[1].Speed }
	// Prompts of 1,000 tokens, 200 of them cached, in two chunks of 20 ms each: 20,000
	// tokens per second. Then the request decodes for two seconds and ends, and after a pause
	// comes the next. A window is 21 of them.
	run := func(times int, chunk time.Duration) {
		for range times {
			id++
			own := s.prompt(at(1, 1), id, 1000)
			seq++
			s.step(&messages.StepResults{Header: at(0, 1), Seq: seq, Admitted: []messages.RequestID{own}})
			step(chunk, messages.StepResults{Computed: 400})
			step(chunk, messages.StepResults{Computed: 400, Prompts: []messages.PromptResult{{ID: own, CachedTokens: 200}}})
			step(time.Second, messages.StepResults{})
			step(time.Second, messages.StepResults{Ended: []messages.RequestEnded{{ID: own, Reason: messages.EndLength}}})
			s.clock += time.Minute
		}
	}
	run(21, 20*time.Millisecond)
	if got := speed(); got < 19_999 || got > 20_001 {
		t.Errorf("the speed is %v, want 20000", got)
	}
	s.clock += time.Hour
	if got := speed(); got < 19_999 || got > 20_001 {
		t.Errorf("after an hour without requests the speed is %v", got)
	}
	run(7, 80*time.Millisecond) // as with a long context, for a second
	if got := speed(); got < 19_000 || got > 19_900 {
		t.Errorf("after a slow window the speed is %v, want a little below 20000", got)
	}
	run(42, 20*time.Millisecond)
	if got := speed(); got < 19_500 {
		t.Errorf("after a fast window the speed is %v, want nearly 20000", got)
	}
	run(3000, 40*time.Millisecond)
	if got := speed(); got < 9_999 || got > 10_200 {
		t.Errorf("after 4 minutes of prefill at 10000, the speed is %v", got)
	}
}

// The speed of a few tokens is that of a step, not of prefill.
func TestSpeedNeedsAWindow(t *testing.T) {
	const steps = 4 // of a window
	for _, tt := range []struct {
		name   string
		tokens int
		took   time.Duration
	}{
		{"a fast engine", 4096, 100 * time.Millisecond},
		{"a slow engine", 100, 250 * time.Millisecond},
	} {
		s := newScene(t)
		s.up(1)
		s.step(&messages.GatewayJoined{Gateway: 1})
		s.prompt(at(1, 1), 1, 1<<20)
		for i := range steps {
			s.clock += tt.took
			s.step(&messages.StepResults{Header: at(0, 1), Seq: uint64(i + 1), Step: messages.StepID(i + 1), Computed: tt.tokens})
			if n := i + 1; s.meter.rate > 0 != (n == steps) {
				t.Errorf("%s: after %d of %d steps the speed is %v", tt.name, n, steps, s.meter.rate)
			}
		}
		want := float64(tt.tokens) / tt.took.Seconds()
		if got := s.reports()[1].Speed; got < 0.999*want || got > 1.001*want {
			t.Errorf("%s: the speed is %v, want %v", tt.name, got, want)
		}
	}
}

// There is one timer, while there are gateways.
func TestReportsAreTimed(t *testing.T) {
	s := newScene(t)
	s.up(1)
	timers := func(msg messages.ToPortal) (list []messages.Timer) {
		s.step(msg)
		return slices.Clone(s.out.Timers)
	}
	if first := timers(&messages.GatewayJoined{Gateway: 1}); len(first) != 1 || first[0].After != 250*time.Millisecond {
		t.Fatalf("the first gateway starts %v", first)
	}
	due := s.due
	if more := timers(&messages.GatewayJoined{Gateway: 2}); len(more) > 0 {
		t.Errorf("the second one starts %v", more)
	}
	if old := timers(&messages.ReportDue{At: 1}); len(old) > 0 || len(s.out.Sends) > 0 {
		t.Errorf("a timer of an earlier portal starts %v", old)
	}
	s.clock = due.At
	if next := timers(due); len(next) != 1 || len(s.out.Sends) != 2 {
		t.Errorf("when it is due, %v starts", next)
	}
	s.step(&messages.GatewayLeft{Gateway: 1})
	s.step(&messages.GatewayLeft{Gateway: 2})
	s.clock = s.due.At
	if last := timers(s.due); len(last) > 0 {
		t.Errorf("without gateways %v starts", last)
	}
	if again := timers(&messages.GatewayJoined{Gateway: 1}); len(again) != 1 {
		t.Errorf("the next gateway starts %v", again)
	}
}
