package dispatch

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

func (s *scene) join(engine int, facts messages.EngineFacts) []messages.Send {
	return s.step(&messages.EngineJoined{Engine: messages.EngineID(engine), Facts: facts})
}

// A gateway starts without engines. Engines come, go and come again in the same slot.
func TestEnginesJoinAndLeave(t *testing.T) {
	s := newScene(t, 0)
	s.submit(1, 2)
	if sends := s.join(0, messages.EngineFacts{Fingerprint: "a"}); len(sends) > 0 {
		t.Errorf("an engine that is not up causes %v", sends)
	}
	if to := given(s.up(0, 1)); len(to) != 2 {
		t.Errorf("the engine gets %v", to)
	}
	s.step(&messages.StepResults{Header: header(0, 1), Seq: 1, Admitted: []messages.RequestID{1}})
	lost := only[*messages.EpochEnded](t, s.step(&messages.EngineLeft{Engine: 0, Cause: "silence"}), messages.Intake)
	if !slices.Equal(lost.Requests, []messages.RequestID{1, 2}) || !slices.Equal(lost.Suspects, []messages.RequestID{1}) || lost.Unsure || lost.Cause != "silence" {
		t.Errorf("intake hears %+v", lost)
	}
	if sends := s.up(0, 1); len(sends) > 0 {
		t.Errorf("an epoch of the link before causes %v", sends)
	}
	s.join(0, messages.EngineFacts{})
	s.submit(1)
	s.up(0, 2)
	bye := only[*messages.EpochEnded](t, s.step(&messages.EngineLeft{Engine: 0, NoSuspects: true}), messages.Intake)
	if bye.Suspects != nil || len(bye.Requests) != 1 {
		t.Errorf("after a goodbye intake hears %+v", bye)
	}
	if sends := s.step(&messages.EngineLeft{Engine: 7}); len(sends) > 0 {
		t.Errorf("an unknown engine leaves with %v", sends)
	}
}

// A link that an earlier incarnation of dispatch began may tell of a new epoch before it
// ends. Its engine gets nothing: tokens without a fingerprint could be continued nowhere.
func TestAnEngineThatHasNotJoinedIsNotUsed(t *testing.T) {
	s := newScene(t, 0)
	s.join(1, messages.EngineFacts{Fingerprint: "a"})
	s.submit(1)
	if sends := s.up(0, 5); len(sends) > 0 {
		t.Errorf("engine 0 has not joined, and causes %v", sends)
	}
	s.step(&messages.EngineLeft{Engine: 0, NoSuspects: true})
	if to := given(s.up(1, 1)); len(to) != 1 || to[1] != 1 {
		t.Errorf("engine 1 has joined, and the engines get %v", to)
	}
	s.join(0, messages.EngineFacts{Fingerprint: "a"})
	if sends := s.up(0, 6); s.engines[0].facts.Fingerprint != "a" || !s.engines[0].up {
		t.Errorf("engine 0 joins, and causes %v", sends)
	}
}

// A request with output waits for an engine with equal numerics, one that is too large for
// a pool for a larger pool. Others are not held up by them.
func TestRequestsWaitForAnEngineThatFits(t *testing.T) {
	s := newScene(t, 0)
	s.join(0, messages.EngineFacts{Fingerprint: "avx2", PoolTokens: 100})
	s.up(0, 1)
	begun, large := request(1), request(2)
	begun.Output, begun.Fingerprint = []int32{7}, "cuda"
	large.Params = &messages.SamplingParams{MaxTokens: 98}
	to := given(s.step(&messages.EnqueueRequests{Header: s.own, Requests: []*messages.EngineRequest{begun, large, request(3)}}))
	if len(to) != 1 || len(s.held) != 2 {
		t.Fatalf("engine 0 gets %v, %d requests are held", to, len(s.held))
	}
	s.join(1, messages.EngineFacts{Fingerprint: "cuda", PoolTokens: 50})
	if to := given(s.up(1, 1)); len(to) != 1 || to[1] != 1 {
		t.Errorf("engine 1 gets %v", to)
	}
	s.join(2, messages.EngineFacts{Fingerprint: "avx2", PoolTokens: 101})
	if to := given(s.up(2, 1)); len(to) != 1 || to[2] != 2 {
		t.Errorf("engine 2 gets %v", to)
	}
	r := only[*messages.StepResults](t, s.step(&messages.StepResults{Header: header(1, 1), Seq: 1}), messages.Intake)
	if r.Fingerprint != "cuda" {
		t.Errorf("the results are of %q", r.Fingerprint)
	}
}

// When an engine joins, it gets its part of the requests that the others have not admitted.
func TestWaitingRequestsMove(t *testing.T) {
	s := newScene(t, 0)
	s.join(0, messages.EngineFacts{})
	s.up(0, 1)
	s.submit(1, 2, 3, 4, 5)
	s.step(&messages.StepResults{Header: header(0, 1), Seq: 1, Admitted: []messages.RequestID{1}})
	s.join(1, messages.EngineFacts{})
	finish := only[*messages.FinishRequests](t, s.up(1, 1), messages.Queue)
	if finish.Header != header(0, 1) || !slices.Equal(finish.IDs, []messages.RequestID{4, 5}) {
		t.Fatalf("engine 0 releases %+v", finish)
	}
	// Intake ends 5 meanwhile: it ends, and does not come back.
	s.step(&messages.FinishRequests{Header: s.own, IDs: []messages.RequestID{5}})
	engines := []messages.RequestEnded{{ID: 4, Reason: messages.EndCancelled}, {ID: 5, Reason: messages.EndCancelled}}
	sends := s.step(&messages.StepResults{Header: header(0, 1), Seq: 2, Ended: engines})
	if len(sends) != 2 {
		t.Fatalf("intake hears %v", sends)
	}
	if r := sends[0].Msg.(*messages.StepResults); len(r.Ended) != 1 || r.Ended[0].ID != 5 || engines[0].ID != 4 {
		t.Errorf("intake hears %+v, and the engine's own list is %v", r.Ended, engines)
	}
	back := sends[1].Msg.(*messages.EpochEnded)
	if !slices.Equal(back.Requests, []messages.RequestID{4}) || back.Seq != sends[0].Msg.(*messages.StepResults).Seq+1 || back.Suspects != nil {
		t.Errorf("intake gets back %+v", back)
	}
}

// Engines with different numerics and pools come and go at random. Intake gets an end for
// every request or submits it again, with the output that it has, and in the end all end.
// A quarantined request is never in an engine with another one, until it has a token.
func TestNoRequestIsLostWhileEnginesComeAndGo(t *testing.T) {
	kinds := []messages.EngineFacts{{Fingerprint: "a"}, {Fingerprint: "b"}, {Fingerprint: "a", PoolTokens: 20}}
	rapid.Check(t, func(t *rapid.T) {
		s := newWaiting(t, rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "wait"))
		type member struct {
			kind   int
			joined bool
			epoch  int
			seq    uint64
			has    []messages.RequestID // nil while it is down
		}
		var engines []*member
		prints := map[messages.RequestID]string{} // of open requests; "" without output
		pool, lone := map[messages.RequestID]int{}, map[messages.RequestID]bool{}
		next, seq := 0, uint64(0)
		submit := func(ids []messages.RequestID) []messages.Send {
			m := &messages.EnqueueRequests{Header: s.own}
			for _, id := range ids {
				r := request(int(id))
				r.Params, r.Alone = &messages.SamplingParams{MaxTokens: pool[id]}, lone[id]
				if r.Fingerprint = prints[id]; r.Fingerprint != "" {
					r.Output = []int32{1}
				}
				m.Requests = append(m.Requests, r)
			}
			return s.step(m)
		}
		var hear func(sends []messages.Send)
		results := func(i int, m *messages.StepResults) {
			e := engines[i]
			e.seq++
			m.Header, m.Seq = header(i, e.epoch), e.seq
			hear(s.step(m))
		}
		hear = func(sends []messages.Send) {
			for _, send := range slices.Clone(sends) {
				switch m := send.Msg.(type) {
				case *messages.EnqueueRequests:
					e := engines[m.Engine]
					for _, r := range m.Requests {
						facts := kinds[e.kind]
						if e.has == nil || m.Header != header(int(m.Engine), e.epoch) || slices.Contains(e.has, r.ID) {
							t.Fatalf("request %d goes to %+v", r.ID, m.Header)
						}
						if r.Fingerprint != "" && r.Fingerprint != facts.Fingerprint || facts.PoolTokens > 0 && 3+pool[r.ID] > facts.PoolTokens {
							t.Fatalf("request %d of %q and %d tokens goes to %+v", r.ID, r.Fingerprint, 3+pool[r.ID], facts)
						}
						if len(e.has) > 0 && r.Alone || slices.ContainsFunc(e.has, func(id messages.RequestID) bool { return lone[id] }) {
							t.Fatalf("request %d, alone: %t, goes to engine %d, which has %v", r.ID, r.Alone, m.Engine, e.has)
						}
						e.has = append(e.has, r.ID)
					}
				case *messages.FinishRequests:
					e, ended := engines[m.Engine], []messages.RequestEnded(nil)
					for _, id := range m.IDs {
						e.has = slices.DeleteFunc(e.has, func(has messages.RequestID) bool { return has == id })
						ended = append(ended, messages.RequestEnded{ID: id, Reason: messages.EndCancelled})
					}
					results(int(m.Engine), &messages.StepResults{Ended: ended})
				case *messages.StepResults:
					if seq++; m.Seq != seq {
						t.Fatalf("results %d come after %d", m.Seq, seq-1)
					}
					for _, token := range m.Tokens {
						prints[token.ID] = m.Fingerprint
						delete(lone, token.ID)
					}
					for _, e := range m.Ended {
						if _, open := prints[e.ID]; !open {
							t.Fatalf("request %d ends again", e.ID)
						}
						for i, member := range engines {
							facts := kinds[member.kind]
							fits := (prints[e.ID] == "" || prints[e.ID] == facts.Fingerprint) && (facts.PoolTokens == 0 || 3+pool[e.ID] <= facts.PoolTokens)
							if e.Reason == messages.EndUnavailable && member.has != nil && fits {
								t.Fatalf("request %d ends although engine %d can take it", e.ID, i)
							}
						}
						delete(prints, e.ID)
					}
				case *messages.EpochEnded:
					if seq++; m.Seq != seq {
						t.Fatalf("message %d comes after %d", m.Seq, seq-1)
					}
					hear(submit(m.Requests))
				}
			}
		}
		pick := func() int {
			if len(engines) == 0 {
				t.Skip("there is no engine")
			}
			return rapid.IntRange(0, len(engines)-1).Draw(t, "engine")
		}
		join := func(i, kind int) {
			if i == len(engines) {
				engines = append(engines, &member{})
			}
			e := engines[i]
			e.kind, e.joined, e.has = kind, true, nil
			hear(s.join(i, kinds[kind]))
		}
		start := func(i int) {
			if e := engines[i]; e.joined && e.has == nil {
				e.epoch++
				e.seq, e.has = 0, []messages.RequestID{}
				hear(s.up(i, e.epoch))
			}
		}
		end := func(i int) {
			e := engines[i]
			id := e.has[0]
			e.has = e.has[1:]
			results(i, &messages.StepResults{Ended: []messages.RequestEnded{{ID: id, Reason: messages.EndLength}}})
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(*rapid.T) {
				var ids []messages.RequestID
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					next++
					id := messages.RequestID(next)
					prints[id], pool[id] = "", rapid.IntRange(1, 30).Draw(t, "tokens")
					if rapid.IntRange(0, 7).Draw(t, "alone") == 0 {
						lone[id] = true
					}
					ids = append(ids, id)
				}
				hear(submit(ids))
			},
			"join": func(*rapid.T) {
				i := rapid.IntRange(0, min(4, len(engines))).Draw(t, "slot")
				join(i, rapid.IntRange(0, len(kinds)-1).Draw(t, "kind"))
			},
			"up": func(*rapid.T) { start(pick()) },
			"down": func(*rapid.T) {
				if i := pick(); engines[i].has != nil {
					engines[i].has = nil
					hear(s.step(&messages.EpochEnded{Header: header(i, engines[i].epoch)}))
				}
			},
			"leave": func(*rapid.T) {
				i := pick()
				engines[i].joined, engines[i].has = false, nil
				hear(s.step(&messages.EngineLeft{Engine: messages.EngineID(i), NoSuspects: rapid.Bool().Draw(t, "goodbye")}))
			},
			"step": func(*rapid.T) {
				if i := pick(); len(engines[i].has) > 0 {
					id := rapid.SampledFrom(engines[i].has).Draw(t, "request")
					results(i, &messages.StepResults{Admitted: []messages.RequestID{id}, Prompts: []messages.PromptResult{{ID: id}}, Tokens: []messages.TokenResult{{ID: id}}})
				}
			},
			"end": func(*rapid.T) {
				if i := pick(); len(engines[i].has) > 0 {
					end(i)
				}
			},
			"pass": func(*rapid.T) {
				hear(s.pass(time.Duration(rapid.IntRange(1, 70).Draw(t, "seconds")) * time.Second))
			},
			"": func(t *rapid.T) {
				for i, e := range engines {
					mine := slices.Sorted(slices.Values(e.has))
					if !slices.Equal(mine, s.router.Requests(i)) {
						t.Fatalf("engine %d has %v, dispatch thinks %v", i, mine, s.router.Requests(i))
					}
				}
			},
		})
		// With an engine of each kind of numerics and enough memory, everything ends.
		for kind := range 2 {
			i := len(engines)
			join(i, kind)
			start(i)
		}
		for busy := true; busy; {
			busy = false
			for i := range engines {
				for len(engines[i].has) > 0 {
					busy = true
					end(i)
				}
			}
		}
		if len(prints) > 0 {
			t.Fatalf("never ended: %v", prints)
		}
	})
}

// What an engine behind a portal has sent is not returned to it: a portal in this process
// could take it for results of its own engine.
func TestAPortalGetsNoResultsBack(t *testing.T) {
	for joined, want := range map[bool]int{true: 0, false: 1} {
		s := newScene(t, 1)
		if joined {
			s.join(0, messages.EngineFacts{})
		}
		s.up(0, 1)
		s.submit(1)
		relayed := only[*messages.StepResults](t, s.step(&messages.StepResults{Header: header(0, 1), Seq: 1, Tokens: []messages.TokenResult{{ID: 1}}}), messages.Intake)
		if sends := s.step(relayed); len(sends) != want {
			t.Errorf("joined %t: it gets back %v", joined, sends)
		}
	}
}
