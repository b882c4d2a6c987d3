package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// offerAll enqueues requests in the order given and returns the order in which
// they are offered. The cache is empty.
func offerAll(t *testing.T, opt Options, now time.Duration, requests ...*messages.EngineRequest) []messages.RequestID {
	t.Helper()
	q, out := New(opt), messages.Outbox{}
	q.Handle(now, &messages.EnqueueRequests{Requests: requests}, &out)
	q.Handle(now, &messages.OfferCandidates{Plan: 1, Limit: len(requests)}, &out)
	for i := 0; i < len(out.Sends); i++ {
		switch m := out.Sends[i].Msg.(type) {
		case *messages.PeekPrefixes:
			reply := &messages.PrefixesPeeked{}
			for _, p := range m.Prefixes {
				reply.Peeked = append(reply.Peeked, messages.PrefixPeeked{ID: p.ID})
			}
			q.Handle(now, reply, &out)
		case *messages.CandidatesOffered:
			return requestIDs(m.Requests)
		}
	}
	t.Fatal("no offer")
	return nil
}

// SGLang's test/srt/test_schedule_policy.py. Its routing-key policy (item 21)
// is not built: it follows a key that its router invents, and what it is for,
// that requests of one prefix run together, lpm and dfs-weight do by the prefix
// itself. Its "priority before length" is not kept either: a policy orders by
// one thing, so that its name says all; equal ranks go by arrival.
func TestSGLangPolicyNumbers(t *testing.T) {
	request := func(id messages.RequestID, arrived time.Duration, priority int32, maxTokens int) *messages.EngineRequest {
		return &messages.EngineRequest{ID: id, Arrived: arrived, Priority: priority, Prompt: []int32{1, 2}, Params: &messages.SamplingParams{MaxTokens: maxTokens, PromptLogprobs: messages.NoLogprobs}}
	}
	for _, c := range []struct {
		name     string
		opt      Options
		requests []*messages.EngineRequest
		want     []messages.RequestID
	}{
		{"fcfs keeps the order", Options{SchedulePolicy: "fcfs"},
			[]*messages.EngineRequest{request(1, 0, 0, 5), request(3, 1, 0, 5), request(2, 2, 0, 5)}, []messages.RequestID{1, 3, 2}},
		{"lpm without a cache is fcfs", Options{SchedulePolicy: "lpm", CacheDisabled: true},
			[]*messages.EngineRequest{request(1, 0, 0, 5), request(3, 1, 0, 5), request(2, 2, 0, 5)}, []messages.RequestID{1, 3, 2}},
		{"dfs-weight without a cache is fcfs", Options{SchedulePolicy: "dfs-weight", CacheDisabled: true},
			[]*messages.EngineRequest{request(1, 0, 0, 5), request(3, 1, 0, 5), request(2, 2, 0, 5)}, []messages.RequestID{1, 3, 2}},
		{"priority, high first", Options{SchedulePolicy: "priority"},
			[]*messages.EngineRequest{request(3, 0, 0, 5), request(2, 1, 1, 5), request(1, 1, 1, 5)}, []messages.RequestID{1, 2, 3}},
		{"priority, ties by arrival", Options{SchedulePolicy: "priority"},
			[]*messages.EngineRequest{request(1, 1, 1, 5), request(2, 1, 0, 5), request(3, 0, 0, 5)}, []messages.RequestID{1, 3, 2}},
		{"priority, low first", Options{SchedulePolicy: "priority", LowPriorityFirst: true},
			[]*messages.EngineRequest{request(1, 1, -1, 5), request(2, 1, 0, 5), request(3, 0, 0, 5)}, []messages.RequestID{1, 3, 2}},
		{"lof", Options{SchedulePolicy: "lof"},
			[]*messages.EngineRequest{request(1, 0, 0, 1000), request(2, 0, 0, 10), request(3, 0, 0, 100)}, []messages.RequestID{1, 3, 2}},
		{"lof, ties by arrival", Options{SchedulePolicy: "lof"},
			[]*messages.EngineRequest{request(1, 3, 0, 10), request(2, 2, 0, 10), request(3, 1, 0, 11)}, []messages.RequestID{3, 2, 1}},
	} {
		if got := offerAll(t, c.opt, 5, c.requests...); !slices.Equal(got, c.want) {
			t.Errorf("%s: offered %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	err := (&Options{SchedulePolicy: "lifo"}).Validate()
	if err == nil {
		t.Fatal("an unknown policy was accepted")
	}
	for _, name := range Policies() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
		if err := (&Options{SchedulePolicy: name}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []Options{{Aging: -1}, {PageSize: 3}, {FairInputWeight: -1}, {FairOutputWeight: -1}, {FairTenants: -1}} {
		if o.Validate() == nil {
			t.Errorf("accepted %+v", o)
		}
	}
}

func TestRandomOrderFollowsTheSeed(t *testing.T) {
	var requests []*messages.EngineRequest
	for id := range messages.RequestID(100) {
		requests = append(requests, &messages.EngineRequest{ID: id + 1, Prompt: []int32{1}})
	}
	first := offerAll(t, Options{SchedulePolicy: "random", Seed: 1}, 0, requests...)
	second := offerAll(t, Options{SchedulePolicy: "random", Seed: 1}, 0, requests...)
	other := offerAll(t, Options{SchedulePolicy: "random", Seed: 2}, 0, requests...)
	if !slices.Equal(first, second) || slices.Equal(first, other) || slices.IsSorted(first) {
		t.Errorf("seed 1 gave %v and %v, seed 2 %v", first, second, other)
	}
}

// Under an endless stream of better requests, every request is offered in time: when
// it is old enough, only those that arrived before it are still ahead.
func TestNoRequestStarves(t *testing.T) {
	const aging, victims = 100, 10
	better := map[string]func(r *messages.EngineRequest){
		"fcfs": func(*messages.EngineRequest) {},
		"lpm":  func(r *messages.EngineRequest) { r.Prompt = []int32{7, 7, 7} }, // cached
		"dfs-weight": func(r *messages.EngineRequest) {
			r.Prompt = []int32{7, 7, 7}
		},
		"lof":      func(r *messages.EngineRequest) { r.Params.MaxTokens = 1000 },
		"random":   func(*messages.EngineRequest) {},
		"priority": func(r *messages.EngineRequest) { r.Priority = 9 },
		"fair":     func(r *messages.EngineRequest) { r.Tenant = fmt.Sprintf("new %d", r.ID) },
	}
	for _, policy := range Policies() {
		q, out := New(Options{SchedulePolicy: policy, Aging: aging, FairTenants: 10}), messages.Outbox{}
		id, plan := messages.RequestID(0), messages.PlanID(0)
		enqueue := func(now time.Duration, change func(*messages.EngineRequest)) {
			id++
			r := &messages.EngineRequest{ID: id, Arrived: now, Tenant: "victim", Prompt: []int32{int32(id) + 10, 1, 1}, Params: &messages.SamplingParams{MaxTokens: 1, PromptLogprobs: messages.NoLogprobs}}
			change(r)
			q.Handle(now, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{r}}, &out)
		}
		served, victim := map[messages.RequestID]time.Duration{}, map[messages.RequestID]bool{}
		for now := time.Duration(0); len(served) < victims; now++ {
			if now < victims {
				enqueue(now, func(*messages.EngineRequest) {})
				victim[id] = true
			}
			enqueue(now, better[policy])
			plan++
			q.Handle(now, &messages.OfferCandidates{Plan: plan, Limit: 1}, &out)
			for i := 0; i < len(out.Sends); i++ {
				switch m := out.Sends[i].Msg.(type) {
				case *messages.PeekPrefixes:
					reply := &messages.PrefixesPeeked{}
					for _, p := range m.Prefixes {
						found := messages.PrefixPeeked{ID: p.ID}
						if p.Tokens[0] == 7 {
							found.Tokens, found.Path = 2, []messages.NodeID{5}
						}
						reply.Peeked = append(reply.Peeked, found)
					}
					q.Handle(now, reply, &out)
				case *messages.CandidatesOffered:
					ids := requestIDs(m.Requests)
					for _, r := range m.Requests {
						if victim[r.ID] {
							served[r.ID] = now - r.Arrived
						}
					}
					q.Handle(now, &messages.ClaimCandidates{IDs: ids}, &out)
					if q.observer != nil {
						q.Handle(now, &messages.StepResults{Ended: []messages.RequestEnded{{ID: ids[0]}}}, &out)
					}
				}
			}
			out.Reset()
			if now > 2000 {
				t.Errorf("%s: after %v only %d of %d are served", policy, now, len(served), victims)
				break
			}
		}
		for id, after := range served {
			// One per step is served. Under fair the victim's tenant gets one
			// turn in aging, and other tenants are as old.
			bound := time.Duration(aging + 2*victims)
			if policy == "fair" {
				bound = 2 * (aging + 1) * victims
			}
			if after > bound {
				t.Errorf("%s: request %d waited for %d steps, want at most %d", policy, id, after, bound)
			}
		}
	}
}

// The heap that all policies stand on equals a sorted list.
func TestOrderedEqualsSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newOrder(byRank)
		var list []*waiter
		var visit walk[*waiter]
		id := messages.RequestID(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				id++
				w := &waiter{req: &messages.EngineRequest{ID: id}, rank: int64(rapid.IntRange(0, 9).Draw(t, "rank"))}
				h.push(w)
				list = append(list, w)
			},
			"remove": func(t *rapid.T) {
				if len(list) > 0 {
					i := rapid.IntRange(0, len(list)-1).Draw(t, "i")
					h.remove(list[i])
					list = slices.Delete(list, i, i+1)
				}
			},
			"fix": func(t *rapid.T) {
				if len(list) > 0 {
					w := rapid.SampledFrom(list).Draw(t, "waiter")
					w.rank = int64(rapid.IntRange(0, 9).Draw(t, "rank"))
					h.fix(w)
				}
			},
			"": func(t *rapid.T) {
				slices.SortFunc(list, func(a, b *waiter) int {
					if byRank(a, b) {
						return -1
					}
					return 1
				})
				visit.start(&h)
				for i, want := range list {
					if got, ok := visit.next(); !ok || got != want {
						t.Fatalf("element %d of the walk is %v, want request %d", i, got, want.req.ID)
					}
					if int(*h.pos(want)) < 1 || h.items[*h.pos(want)-1] != want {
						t.Fatalf("request %d has a wrong position", want.req.ID)
					}
				}
				if _, ok := visit.next(); ok || h.len() != len(list) {
					t.Fatalf("the heap has %d elements, want %d", h.len(), len(list))
				}
			},
		})
	})
}
