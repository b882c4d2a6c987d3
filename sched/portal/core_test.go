package portal

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// scene is a portal between gateways and an engine that are played by hand.
type scene struct {
	*Core
	t     failer
	out   messages.Outbox
	clock time.Duration
	due   *messages.ReportDue // the newest timer
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newScene(t failer) *scene { return &scene{Core: New(), t: t} }

// step gives one message and returns what is sent for it.
func (s *scene) step(msg messages.ToPortal) []messages.Send {
	s.out.Reset()
	s.Handle(s.clock, msg, &s.out)
	s.check()
	s.checkLoad()
	for _, timer := range s.out.Timers {
		s.due = timer.Msg.(*messages.ReportDue)
	}
	return s.out.Sends
}

func (s *scene) up(epoch int) []messages.Send {
	return s.step(&messages.EpochStarted{Header: messages.Header{Epoch: messages.Epoch(epoch)}})
}

// sent are the messages of a kind to a role, in order.
func sent[M any](sends []messages.Send, to messages.Actor) (list []M) {
	for _, s := range sends {
		if m, ok := s.Msg.(M); ok && s.To == to {
			list = append(list, m)
		}
	}
	return list
}

func only[M any](t failer, sends []messages.Send, to messages.Actor) M {
	t.Helper()
	list := sent[M](sends, to)
	if len(list) != 1 || len(sends) != 1 {
		t.Fatalf("sent %v, want one %T to %s", sends, *new(M), to)
	}
	return list[0]
}

// submit lets a gateway send requests, and returns the engine's ids.
func (s *scene) submit(gateway messages.Header, ids ...messages.RequestID) (own []messages.RequestID) {
	s.t.Helper()
	m := &messages.EnqueueRequests{Header: gateway}
	for _, id := range ids {
		m.Requests = append(m.Requests, &messages.EngineRequest{ID: id, Prompt: []int32{int32(id)}})
	}
	for _, r := range only[*messages.EnqueueRequests](s.t, s.step(m), messages.Queue).Requests {
		own = append(own, r.ID)
	}
	return own
}

func at(gateway, epoch int) messages.Header {
	return messages.Header{Engine: messages.EngineID(gateway), Epoch: messages.Epoch(epoch)}
}

// Two gateways use the same ids. The engine sees different ones, and each gateway gets
// the results of its own requests under its own ids.
func TestResultsAreSplit(t *testing.T) {
	s := newScene(t)
	s.step(&messages.GatewayJoined{Gateway: 1})
	s.step(&messages.GatewayJoined{Gateway: 2})
	started := sent[*messages.EpochStarted](s.up(7), messages.Intake)
	if len(started) != 2 || started[0].Header != at(1, 1) || started[1].Header != at(2, 1) {
		t.Fatalf("the gateways hear %v", started)
	}
	one, two := s.submit(at(1, 1), 5, 6), s.submit(at(2, 1), 5)
	results := &messages.StepResults{
		Header: at(0, 7), Seq: 1, Step: 3, Admitted: []messages.RequestID{two[0], one[0]},
		Prompts: []messages.PromptResult{{ID: one[1], CachedTokens: 16}},
		Tokens:  []messages.TokenResult{{ID: one[0], Token: 10}, {ID: two[0], Token: 20}, {ID: two[0], Position: 1, Token: 21}},
		Ended:   []messages.RequestEnded{{ID: two[0], Reason: messages.EndLength}},
	}
	sends := s.step(results)
	parts := sent[*messages.StepResults](sends, messages.Intake)
	got := fmt.Sprintf("%+v %+v", *parts[0], *parts[1])
	want := fmt.Sprintf("%+v %+v",
		messages.StepResults{Header: at(2, 1), Seq: 1, Step: 3, Admitted: []messages.RequestID{5},
			Tokens: []messages.TokenResult{{ID: 5, Token: 20}, {ID: 5, Position: 1, Token: 21}}, Ended: []messages.RequestEnded{{ID: 5, Reason: messages.EndLength}}},
		messages.StepResults{Header: at(1, 1), Seq: 1, Step: 3, Admitted: []messages.RequestID{5},
			Prompts: []messages.PromptResult{{ID: 6, CachedTokens: 16}}, Tokens: []messages.TokenResult{{ID: 5, Token: 10}}})
	if got != want {
		t.Errorf("the parts are\n%s, want\n%s", got, want)
	}
	if back := sent[*messages.StepResults](sends, messages.Former); len(back) != 1 || back[0] != results {
		t.Errorf("the engine gets back %v", back)
	}
	// The gateway has been told of the end.
	if sends := s.step(&messages.FinishRequests{Header: at(2, 1), IDs: []messages.RequestID{5}}); len(sends) > 0 {
		t.Errorf("the release of a request that has ended causes %v", sends)
	}
}

// A gateway asks for the release of a request while it hears that the request is lost with
// one of several engines. It sends the request again, and only that one is in the engine:
// nothing ends it.
func TestAReleaseCrossesALoss(t *testing.T) {
	s := newScene(t)
	s.step(&messages.GatewayJoined{Gateway: 1})
	s.up(1)
	first := s.submit(at(1, 1), 5)
	lost := only[*messages.EpochEnded](t, s.step(&messages.EpochEnded{Header: at(0, 1), Seq: 1, Cause: "one engine", Requests: first}), messages.Intake)
	if !slices.Equal(lost.Requests, []messages.RequestID{5}) || lost.Seq != 1 {
		t.Errorf("the gateway hears %+v", lost)
	}
	finish := func() []messages.Send {
		return s.step(&messages.FinishRequests{Header: at(1, 1), IDs: []messages.RequestID{5}})
	}
	if sends := finish(); len(sends) > 0 {
		t.Errorf("the release causes %v", sends)
	}
	second := s.submit(at(1, 1), 5)
	sends := s.step(&messages.StepResults{Header: at(0, 1), Seq: 2, Tokens: []messages.TokenResult{{ID: second[0], Token: 7}}})
	if part := sent[*messages.StepResults](sends, messages.Intake); len(part) != 1 || part[0].Seq != 2 || len(part[0].Tokens) != 1 || part[0].Tokens[0].ID != 5 {
		t.Errorf("the gateway gets %v", part)
	}
	if m := only[*messages.FinishRequests](t, finish(), messages.Queue); !slices.Equal(m.IDs, second) {
		t.Errorf("the engine releases %v, want %v", m.IDs, second)
	}
}

// A gateway that leaves takes nothing of the others along, and its results go nowhere.
func TestAGatewayLeaves(t *testing.T) {
	s := newScene(t)
	s.up(1)
	s.step(&messages.GatewayJoined{Gateway: 1})
	s.step(&messages.GatewayJoined{Gateway: 2})
	one, two := s.submit(at(1, 1), 1, 2), s.submit(at(2, 1), 1)
	finish := only[*messages.FinishRequests](t, s.step(&messages.GatewayLeft{Gateway: 1}), messages.Queue)
	if !slices.Equal(finish.IDs, one) {
		t.Errorf("requests %v are released, want %v", finish.IDs, one)
	}
	// Its next link has the same slot; ids and epochs of the first one mean nothing there.
	joined := sent[*messages.EpochStarted](s.step(&messages.GatewayJoined{Gateway: 1}), messages.Intake)[0]
	if joined.Header != at(1, 2) {
		t.Errorf("the next link begins with %+v", joined.Header)
	}
	again := s.submit(at(1, 2), 1)
	sends := s.step(&messages.StepResults{
		Header: at(0, 1), Seq: 1,
		Tokens: []messages.TokenResult{{ID: one[0], Token: 7}, {ID: two[0], Token: 8}, {ID: again[0], Token: 9}},
		Ended:  []messages.RequestEnded{{ID: one[0], Reason: messages.EndCancelled}, {ID: one[1], Reason: messages.EndCancelled}},
	})
	for _, part := range sent[*messages.StepResults](sends, messages.Intake) {
		if len(part.Tokens) != 1 || part.Tokens[0].ID != 1 || len(part.Ended) > 0 || part.Tokens[0].Token != map[messages.EngineID]int32{2: 8, 1: 9}[part.Engine] {
			t.Errorf("gateway %d gets %+v", part.Engine, part)
		}
	}
	if sends := s.step(&messages.EnqueueRequests{Header: at(1, 1), Requests: []*messages.EngineRequest{{ID: 9}}}); len(sends) > 0 {
		t.Errorf("a message of the first link causes %v", sends)
	}
}

// An engine's epoch ends with the suspects of each gateway under its own ids.
func TestSuspectsGoToTheirGateways(t *testing.T) {
	s := newScene(t)
	s.up(1)
	s.step(&messages.GatewayJoined{Gateway: 3})
	s.step(&messages.GatewayJoined{Gateway: 4})
	one, two := s.submit(at(3, 1), 11, 12), s.submit(at(4, 1), 11)
	s.step(&messages.FlushCache{Header: at(3, 1), Ticket: 5})
	ended := sent[*messages.EpochEnded](s.step(&messages.EpochEnded{Header: at(0, 1), Cause: "smoke", Suspects: []messages.RequestID{one[1], 999}}), messages.Intake)
	if len(ended) != 2 || !slices.Equal(ended[0].Suspects, []messages.RequestID{12}) || ended[1].Suspects != nil || ended[0].Cause != "smoke" {
		t.Errorf("the gateways hear %+v", ended)
	}
	if sends := s.step(&messages.CacheFlushed{Header: at(0, 1), Ticket: 1}); len(sends) > 0 {
		t.Errorf("a late answer causes %v", sends)
	}
	if sends := s.step(&messages.StepResults{Header: at(0, 1), Seq: 1, Tokens: []messages.TokenResult{{ID: two[0]}}}); len(sends) > 0 {
		t.Errorf("late results cause %v", sends)
	}
	s.step(&messages.GatewayLeft{Gateway: 4})
	started := only[*messages.EpochStarted](t, s.up(2), messages.Intake)
	if started.Header != at(3, 2) {
		t.Errorf("the next epoch is %+v", started.Header)
	}
}

// Answers go to the gateway that asked, with its ticket.
func TestQuestionsAndAnswers(t *testing.T) {
	s := newScene(t)
	s.up(1)
	s.step(&messages.GatewayJoined{Gateway: 1})
	s.step(&messages.GatewayJoined{Gateway: 2})
	flush := only[*messages.FlushCache](t, s.step(&messages.FlushCache{Header: at(2, 1), Ticket: 7}), messages.Former)
	audit := only[*messages.AuditSlots](t, s.step(&messages.AuditSlots{Header: at(1, 1), Ticket: 7}), messages.Former)
	tree := only[*messages.DescribeCache](t, s.step(&messages.DescribeCache{Header: at(1, 1), Ticket: 8, Limits: messages.CacheLimits{Depth: 3}}), messages.Cache)
	if flush.Ticket == audit.Ticket || tree.Limits.Depth != 3 {
		t.Fatalf("the engine is asked %+v, %+v and %+v", flush, audit, tree)
	}
	if m := only[*messages.SlotsAudited](t, s.step(&messages.SlotsAudited{Header: at(0, 1), Ticket: audit.Ticket, OK: true}), messages.Intake); m.Header != at(1, 1) || m.Ticket != 7 || !m.OK {
		t.Errorf("the audit is answered by %+v", m)
	}
	if m := only[*messages.FlushRefused](t, s.step(&messages.FlushRefused{Header: at(0, 1), Ticket: flush.Ticket, Running: 4}), messages.Intake); m.Header != at(2, 1) || m.Ticket != 7 || m.Running != 4 {
		t.Errorf("the flush is answered by %+v", m)
	}
	s.step(&messages.GatewayLeft{Gateway: 1})
	if sends := s.step(&messages.CacheDescribed{Header: at(0, 1), Ticket: tree.Ticket}); len(sends) > 0 {
		t.Errorf("an answer to a gateway that has left causes %v", sends)
	}
}

func TestAGapFailsTheEngine(t *testing.T) {
	s := newScene(t)
	s.up(4)
	s.step(&messages.GatewayJoined{Gateway: 1})
	own := s.submit(at(1, 1), 1)
	fail := only[*messages.FailEpoch](t, s.step(&messages.StepResults{Header: at(0, 4), Seq: 2}), messages.Supervisor)
	if fail.From != messages.Portal || fail.Header != at(0, 4) {
		t.Errorf("the engine is failed by %+v", fail)
	}
	if sends := s.step(&messages.StepResults{Header: at(0, 4), Seq: 1, Tokens: []messages.TokenResult{{ID: own[0]}}}); len(sends) > 0 {
		t.Errorf("results after it cause %v", sends)
	}
}

// After a panic, the next portal ends the newest epoch that the panicked one was told of,
// also if it panicked on that message, and hears the epoch that follows.
func TestThePortalEndsTheNewestEpoch(t *testing.T) {
	for _, c := range []struct {
		name string
		lost any
		want messages.Header
	}{
		{"an operator restarts it", nil, at(0, 3)},
		{"results", &messages.StepResults{Header: at(0, 3)}, at(0, 3)},
		{"the next epoch", &messages.EpochStarted{Header: at(0, 4)}, at(0, 4)},
		{"the present epoch", &messages.EpochStarted{Header: at(0, 3)}, at(0, 3)},
		{"an older epoch", &messages.EpochStarted{Header: at(0, 2)}, at(0, 3)},
		{"the end of an epoch", &messages.EpochEnded{Header: at(0, 3)}, at(0, 3)},
	} {
		s := newScene(t)
		s.up(3)
		s.Core = Next(s.Core, c.lost)
		fail := only[*messages.FailEpoch](t, s.step(&messages.FailEpoch{From: messages.Portal, Cause: "a panic"}), messages.Supervisor)
		if fail.Header != c.want {
			t.Errorf("%s: it ends %+v, want %+v", c.name, fail.Header, c.want)
		}
		s.step(&messages.GatewayJoined{Gateway: 1})
		s.step(&messages.EpochEnded{Header: c.want})
		if started := sent[*messages.EpochStarted](s.up(int(c.want.Epoch)+1), messages.Intake); len(started) != 1 || started[0].Header != at(1, 1) {
			t.Errorf("%s: the gateway hears %v", c.name, started)
		}
	}
}

// world plays gateways and an engine at random and keeps a slow account of what each
// request has got.
type world struct {
	*scene
	epoch    int
	isUp     bool
	seq      uint64
	present  map[int]messages.Header          // of the gateways that are linked, once they know an epoch
	heard    map[messages.Header]uint64       // the results' numbers
	open     map[messages.Header]map[int]bool // requests that a gateway has sent and not got back
	inEngine map[messages.RequestID]string    // "slot/epoch/id" by the engine's id
	next     int
	lost     []*messages.EpochEnded // with one of several engines; may be sent again
}

func (w *world) name(h messages.Header, id messages.RequestID) string {
	return fmt.Sprintf("%d/%d/%d", h.Engine, h.Epoch, id)
}

// carry hands messages to their receivers.
func (w *world) carry(sends []messages.Send) {
	for _, s := range sends {
		switch m := s.Msg.(type) {
		case *messages.EpochStarted:
			if _, ok := w.present[int(m.Engine)]; !ok || len(w.open[m.Header]) > 0 || w.heard[m.Header] > 0 {
				w.t.Fatalf("gateway %d, linked: %t, is told of epoch %d", m.Engine, ok, m.Epoch)
			}
			w.present[int(m.Engine)], w.open[m.Header] = m.Header, map[int]bool{}
		case *messages.EpochEnded:
			if w.present[int(m.Engine)] != m.Header {
				w.t.Fatalf("%+v ends, which gateway %d does not know", m.Header, m.Engine)
			}
			if m.Requests != nil {
				w.follows(m.Header, m.Seq)
				w.over(m.Header, m.Requests...)
				w.lost = append(w.lost, m)
				continue
			}
			w.present[int(m.Engine)] = messages.Header{}
			delete(w.open, m.Header)
		case *messages.StepResults:
			if s.To == messages.Former {
				continue
			}
			w.follows(m.Header, m.Seq)
			for _, token := range m.Tokens {
				if !w.open[m.Header][int(token.ID)] {
					w.t.Fatalf("gateway %d gets a token of request %d", m.Engine, token.ID)
				}
			}
			for _, e := range m.Ended {
				w.over(m.Header, e.ID)
			}
		}
	}
}

// follows checks the number of results for a gateway.
func (w *world) follows(h messages.Header, seq uint64) {
	if w.present[int(h.Engine)] != h || seq != w.heard[h]+1 {
		w.t.Fatalf("gateway %d gets results %d of %+v after %d", h.Engine, seq, h, w.heard[h])
	}
	w.heard[h] = seq
}

// over takes requests out that a gateway has got back. It must have them open: it may send
// one that was lost again, and an end of the earlier one would hit that.
func (w *world) over(h messages.Header, ids ...messages.RequestID) {
	for _, id := range ids {
		if !w.open[h][int(id)] {
			w.t.Fatalf("gateway %d gets an end of request %d, which it does not have open", h.Engine, id)
		}
		delete(w.open[h], int(id))
	}
}

func TestNoRequestIsLostOrMixedUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &world{
			scene: newScene(r), present: map[int]messages.Header{}, heard: map[messages.Header]uint64{},
			open: map[messages.Header]map[int]bool{}, inEngine: map[messages.RequestID]string{},
		}
		known := func() messages.Header {
			var list []messages.Header
			for _, slot := range slices.Sorted(maps.Keys(w.present)) {
				if h := w.present[slot]; h.Epoch > 0 {
					list = append(list, h)
				}
			}
			if len(list) == 0 {
				r.Skip("no gateway is linked to a running engine")
			}
			return rapid.SampledFrom(list).Draw(r, "gateway")
		}
		r.Repeat(map[string]func(*rapid.T){
			"engine up": func(r *rapid.T) {
				w.epoch++
				w.isUp, w.seq = true, 0
				clear(w.inEngine)
				w.carry(w.up(w.epoch))
			},
			"engine down": func(r *rapid.T) {
				if !w.isUp {
					r.Skip("it is down")
				}
				w.isUp = false
				w.carry(w.step(&messages.EpochEnded{Header: at(0, w.epoch), Suspects: slices.Sorted(maps.Keys(w.inEngine))}))
				clear(w.inEngine)
			},
			"join": func(r *rapid.T) {
				slot := rapid.IntRange(0, 3).Draw(r, "slot")
				delete(w.open, w.present[slot])
				w.present[slot] = messages.Header{}
				w.carry(w.step(&messages.GatewayJoined{Gateway: messages.EngineID(slot)}))
			},
			"leave": func(r *rapid.T) {
				slot := rapid.IntRange(0, 3).Draw(r, "slot")
				delete(w.open, w.present[slot])
				delete(w.present, slot)
				w.carry(w.step(&messages.GatewayLeft{Gateway: messages.EngineID(slot)}))
			},
			"submit": func(r *rapid.T) {
				h := known()
				w.next++
				own := w.submit(h, messages.RequestID(w.next))
				if old, twice := w.inEngine[own[0]]; twice {
					r.Fatalf("the engine gets id %d again, which is %s", own[0], old)
				}
				w.inEngine[own[0]], w.open[h][w.next] = w.name(h, messages.RequestID(w.next)), true
			},
			"part lost": func(r *rapid.T) {
				if !w.isUp || len(w.inEngine) == 0 {
					r.Skip("the engine has nothing")
				}
				w.seq++
				m := &messages.EpochEnded{Header: at(0, w.epoch), Seq: w.seq, Cause: "one engine", Requests: []messages.RequestID{}}
				for _, own := range slices.Sorted(maps.Keys(w.inEngine)) {
					if rapid.Bool().Draw(r, "lost") {
						m.Requests = append(m.Requests, own)
						delete(w.inEngine, own)
					}
				}
				w.carry(w.step(m))
			},
			"again": func(r *rapid.T) {
				if len(w.lost) == 0 {
					r.Skip("nothing is lost")
				}
				m := w.lost[0]
				w.lost = w.lost[1:]
				if w.present[int(m.Engine)] != m.Header {
					r.Skip("that epoch has ended")
				}
				for i, own := range w.submit(m.Header, m.Requests...) {
					w.inEngine[own], w.open[m.Header][int(m.Requests[i])] = w.name(m.Header, m.Requests[i]), true
				}
			},
			"finish": func(r *rapid.T) {
				h := known()
				w.carry(w.step(&messages.FinishRequests{Header: h, IDs: []messages.RequestID{messages.RequestID(rapid.IntRange(1, w.next+1).Draw(r, "id"))}}))
			},
			"results": func(r *rapid.T) {
				if !w.isUp {
					r.Skip("the engine is down")
				}
				w.seq++
				m := &messages.StepResults{Header: at(0, w.epoch), Seq: w.seq}
				for _, own := range slices.Sorted(maps.Keys(w.inEngine)) {
					switch rapid.IntRange(0, 3).Draw(r, "fate") {
					case 1:
						m.Tokens = append(m.Tokens, messages.TokenResult{ID: own})
					case 2:
						m.Ended = append(m.Ended, messages.RequestEnded{ID: own})
						delete(w.inEngine, own)
					}
				}
				w.carry(w.step(m))
			},
			"": func(r *rapid.T) {
				// What gateways have open is what the engine has, apart from those that left.
				want := map[string]bool{}
				for h, ids := range w.open {
					for id := range ids {
						want[w.name(h, messages.RequestID(id))] = true
					}
				}
				for _, name := range w.inEngine {
					delete(want, name)
				}
				if len(want) > 0 {
					r.Fatalf("the engine does not have %v", want)
				}
			},
		})
	})
}

// BenchmarkSplit is the cost of a token of 256 rows for four gateways.
func BenchmarkSplit(b *testing.B) {
	s := newScene(b)
	s.up(1)
	m := &messages.StepResults{Header: at(0, 1)}
	for slot := range 4 {
		s.step(&messages.GatewayJoined{Gateway: messages.EngineID(slot)})
		for id := range 64 {
			own := s.submit(at(slot, 1), messages.RequestID(id+1))
			m.Tokens = append(m.Tokens, messages.TokenResult{ID: own[0], Token: 1000})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Seq++
		s.out.Reset()
		s.Handle(0, m, &s.out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(m.Tokens)), "ns/token")
}
