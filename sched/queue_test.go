package sched

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// The queue equals a plain list, and a former that believes it when it says
// that nobody waits never misses anybody.
func TestQueueEqualsList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueueCore(3, QueueOptions{})
		var list []messages.RequestID
		var out messages.Outbox
		next, believed := messages.RequestID(1), 0
		drop := func(ids []messages.RequestID) {
			list = slices.DeleteFunc(list, func(id messages.RequestID) bool { return slices.Contains(ids, id) })
		}
		some := func() []messages.RequestID {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) messages.RequestID {
				return messages.RequestID(rapid.IntRange(1, int(next)+1).Draw(t, "id"))
			}), 0, 4).Draw(t, "ids")
		}
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				m := &messages.EnqueueRequests{Epoch: 3}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					m.Requests = append(m.Requests, &messages.EngineRequest{ID: next, Prompt: make([]int32, 2)})
					list = append(list, next)
					next++
				}
				q.Step(0, m, &out)
			},
			"stale": func(t *rapid.T) {
				q.Step(0, &messages.FinishRequests{Epoch: 2, IDs: list}, &out)
				q.Step(0, &messages.EnqueueRequests{Epoch: 4, Requests: []*messages.EngineRequest{{ID: 99}}}, &out)
				if len(out.Sends) > 0 {
					t.Fatal("a message of another epoch had an effect")
				}
			},
			"finish": func(t *rapid.T) {
				m := &messages.FinishRequests{Epoch: 3, IDs: some()}
				drop(m.IDs)
				q.Step(0, m, &out)
				if len(out.Sends) != 1 || out.Sends[0].To != messages.Batch || out.Sends[0].Msg != any(m) {
					t.Fatalf("FinishRequests was not passed on: %v", out.Sends)
				}
				out.Reset()
			},
			"claim": func(t *rapid.T) {
				m := &messages.ClaimCandidates{Epoch: 3, IDs: some()}
				drop(m.IDs)
				q.Step(0, m, &out)
			},
			"offer": func(t *rapid.T) {
				limit := rapid.IntRange(1, 5).Draw(t, "limit")
				q.Step(0, &messages.OfferCandidates{Epoch: 3, Plan: 8, Limit: limit}, &out)
				m := out.Sends[len(out.Sends)-1].Msg.(*messages.CandidatesOffered)
				if got := requestIDs(m.Requests); !slices.Equal(got, list[:min(limit, len(list))]) || m.Waiting != len(list) || m.Plan != 8 {
					t.Fatalf("offered %v of %d, want %v", got, m.Waiting, list)
				}
				believed = m.Waiting
				out.Reset()
			},
			"": func(t *rapid.T) {
				for _, s := range out.Sends {
					if m, ok := s.Msg.(*messages.CandidatesWaiting); ok {
						believed = m.Waiting
					}
				}
				out.Reset()
				if believed == 0 && len(list) > 0 {
					t.Fatalf("%d requests wait and the former believes that nobody does", len(list))
				}
				if q.Waiting() != len(list) || q.tokens != 2*len(list) {
					t.Fatalf("%d requests of %d tokens, want %d", q.Waiting(), q.tokens, len(list))
				}
			},
		})
	})
}
