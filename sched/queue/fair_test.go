package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// fairScript is a queue under fair.
type fairScript struct {
	t    *testing.T
	q    *Core
	out  messages.Outbox
	next messages.RequestID
	plan messages.PlanID
}

func newFairScript(t *testing.T, opt Options) *fairScript {
	opt.SchedulePolicy = "fair"
	return &fairScript{t: t, q: New(opt)}
}

func (s *fairScript) enqueue(tenant string, input int) messages.RequestID {
	s.next++
	s.q.Handle(0, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{{ID: s.next, Tenant: tenant, Prompt: make([]int32, input)}}}, &s.out)
	return s.next
}

// take claims the first n that are offered.
func (s *fairScript) take(n int) []messages.RequestID {
	s.plan++
	s.out.Reset()
	s.q.Handle(0, &messages.OfferCandidates{Plan: s.plan, Limit: n}, &s.out)
	ids := requestIDs(s.out.Sends[0].Msg.(*messages.CandidatesOffered).Requests)
	s.q.Handle(0, &messages.ClaimCandidates{IDs: ids}, &s.out)
	return ids
}

// token is an output token of each.
func (s *fairScript) token(ids ...messages.RequestID) {
	m := &messages.StepResults{}
	for _, id := range ids {
		m.Tokens = append(m.Tokens, messages.TokenResult{ID: id})
	}
	s.q.Handle(0, m, &s.out)
}

func (s *fairScript) end(ids ...messages.RequestID) {
	m := &messages.StepResults{}
	for _, id := range ids {
		m.Ended = append(m.Ended, messages.RequestEnded{ID: id})
	}
	s.q.Handle(0, m, &s.out)
}

func (s *fairScript) counter(tenant string) float64 {
	t := s.q.waiting.policy.(*fair).tenants[tenant]
	if t == nil {
		return -1
	}
	return t.counter
}

func TestFairCounters(t *testing.T) {
	s := newFairScript(t, Options{})
	for range 4 {
		s.enqueue("a", 10) // 1 to 4
	}
	s.enqueue("b", 30) // 5
	s.enqueue("b", 5)  // 6
	if got, want := s.take(6), []messages.RequestID{1, 5, 2, 3, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("offered %v, want %v: a has 10, b 30, a 20, 30, and 40 after 4", got, want)
	}
	s.token(1, 2, 5)
	if a, b := s.counter("a"), s.counter("b"); a != 44 || b != 37 {
		t.Errorf("a was charged %v and b %v, want 4×10 + 2×2 and 35 + 2", a, b)
	}
	// b left last. A tenant that comes to an empty queue starts at its counter.
	s.enqueue("c", 1)
	if c := s.counter("c"); c != 37 {
		t.Errorf("c starts at %v, want 37, where b is", c)
	}
	s.enqueue("b", 1)
	s.enqueue("a", 1)
	if a, b := s.counter("a"), s.counter("b"); a != 44 || b != 37 {
		t.Errorf("a returns with %v and b with %v, want 44 and 37", a, b)
	}
	s.end(1, 2, 3, 4, 5, 6)
	// d starts at the smallest counter of the waiting tenants.
	s.enqueue("d", 1)
	if d := s.counter("d"); d != 37 {
		t.Errorf("d starts at %v, want 37", d)
	}
}

func TestFairRemembersTheMostServed(t *testing.T) {
	s := newFairScript(t, Options{FairTenants: 2})
	for i, input := range []int{10, 40, 30, 20} {
		s.enqueue(fmt.Sprint(i), input)
	}
	s.end(s.take(4)...)
	p := s.q.waiting.policy.(*fair)
	if len(p.tenants) != 2 || s.counter("1") != 40 || s.counter("2") != 30 || len(p.running) != 0 {
		t.Errorf("kept %d tenants, with 40: %v, with 30: %v; %d run", len(p.tenants), s.counter("1"), s.counter("2"), len(p.running))
	}
	for i := range 1000 {
		s.enqueue(fmt.Sprint("new ", i), 1)
	}
	s.end(s.take(1000)...)
	if len(p.tenants) != 2 {
		t.Errorf("%d tenants are kept, want 2", len(p.tenants))
	}
}

// The bound of the paper for backlogged clients: between two tenants that always have requests
// waiting, weighted service differs by at most 2·max(input weight × longest
// input, output weight × tokens that fit into the engine).
func TestFairServiceIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const rows, longest = 4, 30
		s := newFairScript(t, Options{})
		outputs, service, tenant := map[messages.RequestID]int{}, map[string]float64{}, map[messages.RequestID]string{}
		input := map[messages.RequestID]int{}
		names := []string{"a", "b", "c"}
		kind := map[string]int{}
		for _, name := range names {
			kind[name] = rapid.IntRange(0, 2).Draw(rt, "kind of "+name)
		}
		add := func(name string) {
			in, out := rapid.IntRange(1, longest).Draw(rt, "in"), rapid.IntRange(1, longest).Draw(rt, "out")
			switch kind[name] {
			case 1:
				in = 1
			case 2:
				out = 1
			}
			id := s.enqueue(name, in)
			tenant[id], outputs[id], input[id] = name, out, in
		}
		waiting := map[string]int{}
		var running []messages.RequestID
		for range 150 {
			for _, name := range names {
				for ; waiting[name] < rows+1; waiting[name]++ {
					add(name)
				}
			}
			for _, id := range s.take(rows - len(running)) {
				waiting[tenant[id]]--
				service[tenant[id]] += float64(input[id])
				running = append(running, id)
			}
			s.token(running...)
			running = slices.DeleteFunc(running, func(id messages.RequestID) bool {
				service[tenant[id]] += 2
				if outputs[id]--; outputs[id] == 0 {
					s.end(id)
				}
				return outputs[id] == 0
			})
			least, most := service[names[0]], service[names[0]]
			for _, name := range names {
				least, most = min(least, service[name]), max(most, service[name])
			}
			if bound := 2.0 * max(longest, 2*rows*longest); most-least > bound {
				rt.Fatalf("service differs by %v, want at most %v: %v", most-least, bound, service)
			}
		}
	})
}

// A tenant that floods the queue with requests that grow old does not pass one
// that has none waiting for long.
func TestFloodsDoNotAge(t *testing.T) {
	const aging = 10
	s := newFairScript(t, Options{Aging: aging})
	for range 1000 {
		s.enqueue("flood", 10)
	}
	s.take(1)
	other := s.enqueue("other", 10) // at 0, where flood's counter has started, too
	s.next++
	late := s.next
	const now = 5
	s.q.Handle(now, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{{ID: late, Tenant: "late", Arrived: now, Prompt: make([]int32, 10)}}}, &s.out)
	var order []messages.RequestID
	for i := range 6 {
		s.out.Reset()
		s.plan++
		s.q.Handle(now+aging+time.Duration(i), &messages.OfferCandidates{Plan: s.plan, Limit: 1}, &s.out)
		ids := requestIDs(s.out.Sends[0].Msg.(*messages.CandidatesOffered).Requests)
		s.q.Handle(now+aging+time.Duration(i), &messages.ClaimCandidates{IDs: ids}, &s.out)
		order = append(order, ids...)
	}
	if slices.Index(order, other) > 2 || slices.Index(order, late) > 2 || slices.Index(order, other) < 0 || slices.Index(order, late) < 0 {
		t.Errorf("offered %v: requests %d and %d wait behind a flood", order, other, late)
	}
}
