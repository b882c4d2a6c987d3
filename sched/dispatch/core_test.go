package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// scene is a core between an intake and engines that are played by hand.
type scene struct {
	*Core
	t      failer
	out    messages.Outbox
	now    time.Duration
	timers []timer
}

type timer struct {
	at  time.Duration
	msg messages.ToDispatch
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newScene(t failer, engines int) *scene {
	return &scene{Core: New(1, Options{Route: route.Options{Policy: route.RoundRobin, Replicas: engines, PageSize: 16}}), t: t}
}

// step gives one message and returns what is sent for it.
func (s *scene) step(msg messages.ToDispatch) []messages.Send {
	s.out.Reset()
	s.Handle(s.now, msg, &s.out)
	s.check()
	for _, t := range s.out.Timers {
		s.timers = append(s.timers, timer{s.now + t.After, t.Msg.(messages.ToDispatch)})
	}
	return s.out.Sends
}

func header(engine, epoch int) messages.Header {
	return messages.Header{Engine: messages.EngineID(engine), Epoch: messages.Epoch(epoch)}
}

func request(id int) *messages.EngineRequest {
	return &messages.EngineRequest{ID: messages.RequestID(id), Prompt: []int32{1, 2, 3}, Params: &messages.SamplingParams{}}
}

func (s *scene) up(engine, epoch int) []messages.Send {
	return s.step(&messages.EpochStarted{Header: header(engine, epoch)})
}

// submit gives requests and returns the engine that got each.
func (s *scene) submit(ids ...int) map[messages.RequestID]int {
	m := &messages.EnqueueRequests{Header: s.own}
	for _, id := range ids {
		m.Requests = append(m.Requests, request(id))
	}
	return given(s.step(m))
}

func given(sends []messages.Send) map[messages.RequestID]int {
	to := map[messages.RequestID]int{}
	for _, send := range sends {
		if m, ok := send.Msg.(*messages.EnqueueRequests); ok {
			for _, r := range m.Requests {
				to[r.ID] = int(m.Engine)
			}
		}
	}
	return to
}

// only wants one message, of type M, for a role.
func only[M any](t failer, sends []messages.Send, to messages.Actor) M {
	t.Helper()
	if len(sends) != 1 || sends[0].To != to {
		t.Fatalf("%d messages were sent, want one for %s: %v", len(sends), to, sends)
	}
	m, ok := sends[0].Msg.(M)
	if !ok {
		t.Fatalf("a %T was sent", sends[0].Msg)
	}
	return m
}

// Requests that come while no engine is up wait for the first one.
func TestRequestsWaitForAnEngine(t *testing.T) {
	s := newScene(t, 2)
	if sends := s.step(&messages.EnqueueRequests{Header: s.own, Requests: []*messages.EngineRequest{request(1), request(2)}}); len(sends) > 0 {
		t.Fatalf("with no engine up, %v was sent", sends)
	}
	r := only[*messages.StepResults](t, s.step(&messages.FinishRequests{Header: s.own, IDs: []messages.RequestID{2, 99}}), messages.Intake)
	if r.Seq != 1 || len(r.Ended) != 2 {
		t.Errorf("a held and an unknown request ended with %+v", r)
	}
	sends := s.up(1, 4)
	if len(sends) != 2 || sends[0].To != messages.Intake || sends[0].Msg.(*messages.EpochStarted).Header != s.own {
		t.Fatalf("the first engine brought %v", sends)
	}
	if to := given(sends); len(to) != 1 || to[1] != 1 {
		t.Errorf("the requests went to %v, want request 1 to engine 1", to)
	}
}

// What an engine loses goes back to intake; what the others have stays there.
func TestALostEngineReturnsItsRequests(t *testing.T) {
	s := newScene(t, 2)
	s.up(0, 1)
	s.up(1, 7)
	to := s.submit(1, 2, 3, 4)
	var of []messages.RequestID
	for id, engine := range to {
		if engine == 0 {
			of = append(of, id)
		}
	}
	slices.Sort(of)
	if len(of) != 2 {
		t.Fatalf("the requests went to %v", to)
	}
	m := only[*messages.EpochEnded](t, s.step(&messages.EpochEnded{Header: header(0, 1), Cause: "boom", Suspects: of[:1]}), messages.Intake)
	if m.Header != s.own || !slices.Equal(m.Requests, of) || !slices.Equal(m.Suspects, of[:1]) || m.Cause != "boom" {
		t.Errorf("intake gets %+v", m)
	}
	for id, engine := range s.submit(int(of[0]), int(of[1])) {
		if engine != 1 {
			t.Errorf("request %d went to engine %d, which is down", id, engine)
		}
	}
	if sends := s.step(&messages.EpochEnded{Header: header(0, 1)}); len(sends) > 0 {
		t.Errorf("the end was reported twice: %v", sends)
	}
	if sends := s.up(0, 1); len(sends) > 0 || s.Core.engines[0].up || !s.Core.engines[1].up {
		t.Errorf("an epoch that has ended started again: %v", sends)
	}
}

// Results reach intake with one number after the other, and go back to the
// engine that they are of.
func TestResultsAreRelayed(t *testing.T) {
	s := newScene(t, 2)
	s.up(0, 1)
	s.up(1, 1)
	s.submit(1, 2)
	var sent []*messages.StepResults
	var origins []*messages.StepResults
	for i := range 3 {
		for engine := range 2 {
			m := &messages.StepResults{Header: header(engine, 1), Seq: uint64(i + 1), Step: messages.StepID(i + 1),
				Tokens: []messages.TokenResult{{ID: messages.RequestID(engine + 1), Position: i}}}
			r := only[*messages.StepResults](t, s.step(m), messages.Intake)
			if r.Header != s.own || r.Seq != uint64(len(sent)+1) || len(r.Tokens) != 1 || r.Tokens[0] != m.Tokens[0] {
				t.Fatalf("intake gets %+v for %+v", r, m)
			}
			sent, origins = append(sent, r), append(origins, m)
		}
	}
	for i, r := range sent {
		if i == 1 {
			continue // lost with an incarnation of intake
		}
		if back := only[*messages.StepResults](t, s.step(r), messages.Former); back != origins[i] {
			t.Errorf("results %d went back as %+v", i, back)
		}
	}
	if len(s.sent) > 0 {
		t.Errorf("%d results are still expected back", len(s.sent))
	}
}

// A request runs from the step that completes its prompt on, and relaying a step's
// results allocates nothing.
func TestAStepCostsLittle(t *testing.T) {
	s := newScene(t, 1)
	s.up(0, 1)
	s.submit(1, 2)
	if l := s.router.Load(0); l.Waiting != 2 || l.Running != 0 {
		t.Fatalf("before the first step the load is %+v", l)
	}
	m := &messages.StepResults{Header: header(0, 1), Seq: 1, Prompts: []messages.PromptResult{{ID: 2}}, Tokens: []messages.TokenResult{{ID: 2}}}
	s.step(only[*messages.StepResults](t, s.step(m), messages.Intake))
	if l := s.router.Load(0); l.Waiting != 1 || l.Running != 1 {
		t.Errorf("after the prompt of one of two requests the load is %+v", l)
	}
	m.Prompts = nil
	if invariants.Enabled {
		return // whose checks allocate
	}
	if n := testing.AllocsPerRun(100, func() {
		m.Seq++
		s.out.Reset()
		s.Handle(0, m, &s.out)
		relayed := s.out.Sends[0].Msg.(*messages.StepResults)
		s.out.Reset()
		s.Handle(0, relayed, &s.out)
	}); n > 0 {
		t.Errorf("the results of a step cost %v allocations", n)
	}
}

// A gap in an engine's results ends its epoch, and nothing of it counts any more.
func TestAGapFailsTheEngine(t *testing.T) {
	s := newScene(t, 1)
	s.up(0, 1)
	s.submit(1)
	m := only[*messages.FailEpoch](t, s.step(&messages.StepResults{Header: header(0, 1), Seq: 2}), messages.Supervisor)
	if m.Header != header(0, 1) || m.From != messages.Dispatch {
		t.Errorf("the engine gets %+v", m)
	}
	if sends := s.step(&messages.StepResults{Header: header(0, 1), Seq: 1}); len(sends) > 0 {
		t.Errorf("results after a gap were relayed: %v", sends)
	}
}

// Questions are asked of every engine and answered once, with the sum; an engine
// that goes down has nothing to add.
func TestQuestions(t *testing.T) {
	s := newScene(t, 3)
	for i := range 3 {
		s.up(i, 1)
	}
	if sends := s.step(&messages.AuditSlots{Header: s.own, Ticket: 5}); len(sends) != 3 {
		t.Fatalf("an audit sends %v", sends)
	}
	answer := func(engine int, ok bool) []messages.Send {
		return s.step(&messages.SlotsAudited{Header: header(engine, 1), Ticket: 5, Count: messages.PageCount{Free: 10 * (engine + 1), Total: 10 * (engine + 1)}, OK: ok})
	}
	for range 2 { // the second answer is ignored
		if sends := answer(0, true); len(sends) > 0 {
			t.Fatalf("one of three answered: %v", sends)
		}
	}
	if sends := s.step(&messages.EpochEnded{Header: header(1, 1)}); len(sends) > 0 {
		t.Fatalf("one of three answered and one is down: %v", sends)
	}
	if m := only[*messages.SlotsAudited](t, answer(2, false), messages.Intake); m.OK || m.Count.Free != 40 || m.Ticket != 5 || m.Header != s.own {
		t.Errorf("the sum is %+v", m)
	}

	s.step(&messages.FlushCache{Header: s.own, Ticket: 6})
	s.step(&messages.CacheFlushed{Header: header(0, 1), Ticket: 6, Pages: 3})
	if m := only[*messages.FlushRefused](t, s.step(&messages.FlushRefused{Header: header(2, 1), Ticket: 6, Running: 2}), messages.Intake); m.Running != 2 || m.Ticket != 6 {
		t.Errorf("a flush that one engine refuses brings %+v", m)
	}
	s.step(&messages.FlushCache{Header: s.own, Ticket: 7})
	s.step(&messages.CacheFlushed{Header: header(0, 1), Ticket: 7, Pages: 3})
	if m := only[*messages.CacheFlushed](t, s.step(&messages.CacheFlushed{Header: header(2, 1), Ticket: 7, Pages: 4}), messages.Intake); m.Pages != 7 {
		t.Errorf("a flush brings %+v", m)
	}
}

// With no engine up, or none that lives until it answers, questions get empty answers.
func TestQuestionsWithoutEngines(t *testing.T) {
	s := newScene(t, 2)
	if m := only[*messages.SlotsAudited](t, s.step(&messages.AuditSlots{Header: s.own, Ticket: 1}), messages.Intake); m.Count.Total != 0 {
		t.Errorf("an audit of nothing says %+v", m)
	}
	if m := only[*messages.FlushRefused](t, s.step(&messages.FlushCache{Header: s.own, Ticket: 2}), messages.Intake); m.Running != 0 {
		t.Errorf("a flush of nothing says %+v", m)
	}
	s.up(0, 1)
	s.step(&messages.DescribeCache{Header: s.own, Ticket: 3})
	if m := only[*messages.CacheDescribed](t, s.step(&messages.EpochEnded{Header: header(0, 1)}), messages.Intake); m.View != nil {
		t.Errorf("a description of nothing says %+v", m)
	}
}

type drawing string

func (d drawing) Text(bool) string { return string(d) }

// The trees are in the order of the engines' numbers, in whatever order they answer.
func TestTreesOfSeveralEngines(t *testing.T) {
	s := newScene(t, 3)
	describe := func(ticket messages.Ticket, answers ...int) string {
		t.Helper()
		sends := s.step(&messages.DescribeCache{Header: s.own, Ticket: ticket})
		for _, i := range answers {
			sends = s.step(&messages.CacheDescribed{Header: header(i, 1), Ticket: ticket, View: drawing(fmt.Sprint("tree ", i))})
		}
		text, err := json.Marshal(only[*messages.CacheDescribed](t, sends, messages.Intake).View)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := describe(1); got != "null" {
		t.Errorf("without an engine: %s, want no view", got)
	}
	s.up(0, 1)
	s.up(2, 1)
	if got, want := describe(2, 2, 0), `{"engines":[{"engine":0,"cache":"tree 0"},{"engine":2,"cache":"tree 2"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// After a panic of dispatch, or when intake asks for it, everything starts over
// under a new number.
func TestStartingOver(t *testing.T) {
	s := newScene(t, 2)
	s.up(0, 1)
	s.submit(1)
	before := s.own
	next := &scene{Core: New(before.Epoch, s.opt), t: t} // as after a panic
	check := func(sends []messages.Send) {
		t.Helper()
		if len(sends) != 3 || sends[0].Msg.(*messages.EpochEnded).Header != before || sends[0].Msg.(*messages.EpochEnded).Requests != nil {
			t.Fatalf("a restart sends %v", sends)
		}
		for i, send := range sends[1:] {
			if m := send.Msg.(*messages.FailEpoch); int(m.Engine) != i {
				t.Errorf("engine %d gets %+v", i, m)
			}
		}
	}
	check(next.step(&messages.FailEpoch{Header: before, From: messages.Dispatch, Cause: "a panic"}))
	check(s.step(&messages.FailEpoch{Header: before, From: messages.Intake, Cause: "a gap"}))
	for _, c := range []*scene{s, next} {
		if c.own.Epoch != before.Epoch+1 {
			t.Errorf("the incarnation is %d", c.own.Epoch)
		}
		if sends := c.step(&messages.EnqueueRequests{Header: before, Requests: []*messages.EngineRequest{request(1)}}); len(sends) > 0 || len(c.held) > 0 {
			t.Error("a request of the incarnation before was taken")
		}
		if m := only[*messages.EpochStarted](t, c.up(0, 2), messages.Intake); m.Header != c.own {
			t.Errorf("intake gets %+v", m)
		}
	}
}

// Whatever engines do, intake gets an end for every request that it has submitted, or
// has to submit it again; and an engine gets no request twice.
func TestNoRequestIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScene(t, rapid.IntRange(1, 4).Draw(t, "engines"))
		n := len(s.engines)
		epochs, seqs := make([]int, n), make([]uint64, n)
		has := make([]map[messages.RequestID]bool, n) // as the engines know it
		open := map[messages.RequestID]bool{}         // as intake knows it
		next, seq := 1, uint64(0)
		// hear is intake and all engines.
		var hear func(sends []messages.Send)
		hear = func(sends []messages.Send) {
			sends = slices.Clone(sends)
			for _, send := range sends {
				switch m := send.Msg.(type) {
				case *messages.EnqueueRequests:
					for _, r := range m.Requests {
						if m.Header != header(int(m.Engine), epochs[m.Engine]) || has[m.Engine] == nil || has[m.Engine][r.ID] {
							t.Fatalf("request %d was given to %+v", r.ID, m.Header)
						}
						has[m.Engine][r.ID] = true
					}
				case *messages.StepResults:
					if seq++; m.Seq != seq {
						t.Fatalf("results %d follow %d", m.Seq, seq-1)
					}
					for _, e := range m.Ended {
						delete(open, e.ID)
					}
				case *messages.EpochEnded:
					if seq++; m.Seq != seq {
						t.Fatalf("message %d (an engine failed) came after message %d; messages were lost or repeated", m.Seq, seq-1)
					}
					again := &messages.EnqueueRequests{Header: s.own}
					for _, id := range m.Requests {
						if !open[id] {
							t.Fatalf("request %d came back and is not open", id)
						}
						again.Requests = append(again.Requests, request(int(id)))
					}
					hear(s.step(again))
				}
			}
		}
		end := func(i int) {
			if len(has[i]) == 0 {
				return
			}
			var ids []messages.RequestID
			for id := range has[i] {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			id := rapid.SampledFrom(ids).Draw(t, "ends")
			delete(has[i], id)
			seqs[i]++
			hear(s.step(&messages.StepResults{Header: header(i, epochs[i]), Seq: seqs[i], Ended: []messages.RequestEnded{{ID: id}}}))
		}
		start := func(i int) {
			if has[i] == nil {
				epochs[i]++
				has[i], seqs[i] = map[messages.RequestID]bool{}, 0
				hear(s.up(i, epochs[i]))
			}
		}
		engine := func() int { return rapid.IntRange(0, n-1).Draw(t, "engine") }
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(*rapid.T) {
				m := &messages.EnqueueRequests{Header: s.own}
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					open[messages.RequestID(next)] = true
					m.Requests = append(m.Requests, request(next))
					next++
				}
				hear(s.step(m))
			},
			"up": func(*rapid.T) { start(engine()) },
			"down": func(*rapid.T) {
				if i := engine(); has[i] != nil {
					has[i] = nil
					hear(s.step(&messages.EpochEnded{Header: header(i, epochs[i])}))
				}
			},
			"end": func(*rapid.T) { end(engine()) },
			"": func(t *rapid.T) {
				for id := range open {
					if i, ok := s.router.Replica(id); ok && !has[i][id] {
						t.Fatalf("request %d is thought to be in engine %d", id, i)
					}
				}
				given := 0
				for i := range n {
					l := s.router.Load(i)
					given += l.Waiting + l.Running
				}
				if held := len(s.held); held+given != len(open) {
					t.Fatalf("%d requests are open, %d are held and %d in engines", len(open), held, given)
				}
			},
		})
		// When all engines are up for long enough, everything ends.
		for i := range n {
			start(i)
		}
		for i := range n {
			for len(has[i]) > 0 {
				end(i)
			}
		}
		if len(open) > 0 {
			t.Fatalf("never ended: %v", fmt.Sprint(open))
		}
	})
}

// Dispatch's own acknowledgements come back from intake as well. Results that are still
// with intake go back to their engine all the same.
func TestAcknowledgementsDoNotReturnResults(t *testing.T) {
	s := newScene(t, 1)
	s.up(0, 1)
	s.submit(1)
	origin := &messages.StepResults{Header: header(0, 1), Seq: 1, Step: 1, Tokens: []messages.TokenResult{{ID: 1}}}
	relayed := only[*messages.StepResults](t, s.step(origin), messages.Intake)
	own := only[*messages.StepResults](t, s.step(&messages.FinishRequests{Header: s.own, IDs: []messages.RequestID{99}}), messages.Intake)
	if sends := s.step(own); len(sends) != 0 {
		t.Fatalf("sent %v for an acknowledgement", sends)
	}
	if back := only[*messages.StepResults](t, s.step(relayed), messages.Former); back != origin {
		t.Errorf("the engine got %v back, want %v", back, origin)
	}
}
