package queue

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// lpmScript is a queue under lpm or dfs-weight whose cache is a function.
type lpmScript struct {
	t      *testing.T
	q      *Core
	out    messages.Outbox
	cached func(p *messages.PrefixPeek) messages.PrefixPeeked
	asked  []messages.RequestID
	plan   messages.PlanID
	next   messages.RequestID
}

func newLPMScript(t *testing.T, opt Options) *lpmScript {
	return &lpmScript{t: t, q: New(opt), cached: func(*messages.PrefixPeek) messages.PrefixPeeked { return messages.PrefixPeeked{} }}
}

// step runs a message and answers what the queue asks the cache.
func (s *lpmScript) step(msg messages.ToQueue) (offered []messages.RequestID) {
	s.q.Handle(0, msg, &s.out)
	for i := 0; i < len(s.out.Sends); i++ {
		switch m := s.out.Sends[i].Msg.(type) {
		case *messages.PeekPrefixes:
			reply := &messages.PrefixesPeeked{}
			for j := range m.Prefixes {
				found := s.cached(&m.Prefixes[j])
				found.ID = m.Prefixes[j].ID
				reply.Peeked = append(reply.Peeked, found)
				s.asked = append(s.asked, found.ID)
			}
			s.q.Handle(0, reply, &s.out)
		case *messages.CandidatesOffered:
			offered = requestIDs(m.Requests)
		}
	}
	s.out.Reset()
	return offered
}

// enqueue adds a prompt of shared tokens 1 and then own tokens.
func (s *lpmScript) enqueue(shared, own int) {
	s.step(&messages.EnqueueRequests{Requests: []*messages.EngineRequest{s.request(shared, own)}})
}

func (s *lpmScript) request(shared, own int) *messages.EngineRequest {
	s.next++
	r := &messages.EngineRequest{ID: s.next, Prompt: make([]int32, shared+own), Params: &messages.SamplingParams{MaxTokens: 1, PromptLogprobs: messages.NoLogprobs}}
	for i := range r.Prompt {
		r.Prompt[i] = 1
		if i >= shared {
			r.Prompt[i] = int32(100 + s.next)
		}
	}
	return r
}

func (s *lpmScript) wantOffer(what string, want ...messages.RequestID) {
	s.t.Helper()
	s.plan++
	if got := s.step(&messages.OfferCandidates{Plan: s.plan, Limit: 64}); !slices.Equal(got, want) {
		s.t.Errorf("%s: offered %v, want %v", what, got, want)
	}
}

func (s *lpmScript) claim(ids ...messages.RequestID) {
	s.step(&messages.ClaimCandidates{IDs: ids})
}

// firstCached is a cache that holds the first n of the shared tokens.
func firstCached(n int) func(*messages.PrefixPeek) messages.PrefixPeeked {
	return func(p *messages.PrefixPeek) (found messages.PrefixPeeked) {
		for found.Tokens < min(n, len(p.Tokens)) && p.Tokens[found.Tokens] == 1 {
			found.Tokens++
		}
		return found
	}
}

// SGLang's thresholds: 32 shared tokens make others wait, 31 do not; a request that
// has more than 32 in the cache does not wait.
func TestInBatchThresholds(t *testing.T) {
	s := newLPMScript(t, Options{SchedulePolicy: "lpm"})
	for range 3 {
		s.enqueue(31, 20)
	}
	s.wantOffer("31 shared tokens", 1, 2, 3)

	s = newLPMScript(t, Options{SchedulePolicy: "lpm"})
	for range 3 {
		s.enqueue(32, 20)
	}
	s.wantOffer("32 shared tokens", 1)

	s = newLPMScript(t, Options{SchedulePolicy: "lpm"})
	s.cached = firstCached(32)
	for range 3 {
		s.enqueue(64, 20)
	}
	s.wantOffer("32 tokens cached, 32 more shared", 1)

	s = newLPMScript(t, Options{SchedulePolicy: "lpm"})
	s.cached = firstCached(33)
	for range 3 {
		s.enqueue(200, 20)
	}
	s.wantOffer("33 tokens cached", 1, 2, 3)

	s = newLPMScript(t, Options{SchedulePolicy: "lpm", PageSize: 64})
	s.enqueue(63, 20)
	s.enqueue(63, 20)
	s.wantOffer("63 shared tokens are no page of 64", 1, 2)
}

// A follower is offered as soon as the part that it shares is cached,
// not only at the end of a long prompt; the others go when the prompt is done,
// after the plan that gives it to the cache.
func TestFollowersGoWhenTheirPartIsCached(t *testing.T) {
	s := newLPMScript(t, Options{SchedulePolicy: "lpm", PageSize: 16})
	s.enqueue(1000, 10)
	s.enqueue(1000, 20)
	s.enqueue(70, 30)
	s.enqueue(0, 50)
	s.wantOffer("one goes for all", 1, 4)
	s.claim(1, 4)
	s.wantOffer("nothing is cached yet")
	s.cached = firstCached(48)
	s.wantOffer("48 tokens are cached")
	s.cached = firstCached(512)
	s.wantOffer("512 tokens are cached, 70 are enough for request 3", 3)
	s.step(&messages.StepResults{Prompts: []messages.PromptResult{{ID: 1}}})
	s.wantOffer("the prompt is done, and goes to the cache with this plan", 3)
	s.cached = firstCached(992)
	s.wantOffer("it is in the cache", 2, 3)
}

// When the one that goes first ends early, the next one takes its place.
func TestLeadersFollowOneAnother(t *testing.T) {
	s := newLPMScript(t, Options{SchedulePolicy: "lpm"})
	for range 4 {
		s.enqueue(100, 20)
	}
	s.wantOffer("at first", 1)
	s.step(&messages.FinishRequests{IDs: []messages.RequestID{1}})
	s.wantOffer("it was cancelled while it waited", 2)
	s.claim(2)
	s.wantOffer("the next one runs")
	s.step(&messages.FinishRequests{IDs: []messages.RequestID{2}})
	s.wantOffer("and is cancelled: its pages may come with this plan")
	s.wantOffer("they did not", 3)
	s.claim(3)
	s.step(&messages.StepResults{Ended: []messages.RequestEnded{{ID: 3}}})
	s.wantOffer("the third one has ended")
	s.cached = firstCached(100)
	s.wantOffer("and is cached", 4)
}

// A request that is submitted again has waited longer than those that came before it. It
// may enter a group while the cache is asked for the next leader.
func TestALateRequestMayBeTheEarliest(t *testing.T) {
	s := newLPMScript(t, Options{SchedulePolicy: "lpm"})
	s.enqueue(100, 20)
	s.enqueue(100, 20)
	s.wantOffer("at first", 1)
	s.claim(1)
	s.step(&messages.FinishRequests{IDs: []messages.RequestID{1}})
	s.wantOffer("the leader was cancelled: its pages may come with this plan")
	// The cache is asked for 3 only, then for 4 and 2 together.
	other, again := s.request(0, 50), s.request(100, 20)
	again.Arrived = -1
	for _, r := range []*messages.EngineRequest{other, again} {
		s.q.Handle(0, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{r}}, &s.out)
	}
	s.wantOffer("4 is the earliest and leads 2", 4, 3)
	s.claim(4)
	s.wantOffer("2 waits for 4", 3)
}

// A long queue costs an offer no more peeks than a short one.
func TestPeeksAreBounded(t *testing.T) {
	for _, policy := range []string{"lpm", "dfs-weight"} {
		s := newLPMScript(t, Options{SchedulePolicy: policy})
		m := &messages.EnqueueRequests{}
		for range 3000 {
			s.next++
			m.Requests = append(m.Requests, &messages.EngineRequest{ID: s.next, Prompt: []int32{int32(s.next), 2}})
		}
		s.step(m)
		if len(s.asked) != len(m.Requests) {
			t.Fatalf("%s: %d new requests made %d peeks", policy, len(m.Requests), len(s.asked))
		}
		for range 3 {
			s.asked = nil
			s.plan++
			s.step(&messages.OfferCandidates{Plan: s.plan, Limit: 64})
			if len(s.asked) > 64 {
				t.Errorf("%s: an offer of 64 made %d peeks", policy, len(s.asked))
			}
		}
	}
}

// The queue of SGLang's dfs-weight, drawn as a tree: 2 requests at A, 3 below
// its child B, 1 below its child C, 4 at D.
func TestDFSWeightGoesDownTheHeaviestPath(t *testing.T) {
	s := newLPMScript(t, Options{SchedulePolicy: "dfs-weight"})
	const a, b, c, d = 1, 2, 3, 4
	path := map[int32][]messages.NodeID{1: {a}, 2: {a, b}, 3: {a, c}, 4: {d}, 5: nil}
	s.cached = func(p *messages.PrefixPeek) messages.PrefixPeeked {
		return messages.PrefixPeeked{Tokens: len(path[p.Tokens[0]]), Path: path[p.Tokens[0]]}
	}
	m := &messages.EnqueueRequests{}
	for i, kind := range []int32{5, 1, 4, 3, 2, 4, 2, 1, 4, 2, 4} {
		m.Requests = append(m.Requests, &messages.EngineRequest{ID: messages.RequestID(i + 1), Prompt: []int32{kind, 0}})
	}
	s.step(m)
	s.wantOffer("A weighs 6, D 4", 5, 7, 10, 4, 2, 8, 3, 6, 9, 11, 1)
	s.claim(5, 7, 10)
	s.wantOffer("A weighs 3, D 4", 3, 6, 9, 11, 4, 2, 8, 1)
}
