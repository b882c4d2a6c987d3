package queue

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/messages"
)

// benchQueue is a queue with a cache that answers at once, in which a third of
// all prompts are found.
type benchQueue struct {
	q    *Core
	out  messages.Outbox
	next messages.RequestID
	plan messages.PlanID
	last []*messages.EngineRequest
}

// benchRequest has a prompt of 64 tokens, of one of 100 families that share all
// but the last 8, and one of 1000 tenants.
func (b *benchQueue) request() *messages.EngineRequest {
	b.next++
	mixed := splitmix.Mix(uint64(b.next))
	r := &messages.EngineRequest{
		ID: b.next, Prompt: make([]int32, 64), Priority: int32(mixed % 16), Tenant: tenantNames[mixed%1000],
		Params: &messages.SamplingParams{MaxTokens: int(mixed % 1000), PromptLogprobs: messages.NoLogprobs},
	}
	for i := range r.Prompt {
		r.Prompt[i] = int32(mixed >> 32 % 100)
		if i >= 56 {
			r.Prompt[i] = int32(b.next)
		}
	}
	return r
}

var tenantNames = func() (names [1000]string) {
	for i := range names {
		names[i] = fmt.Sprint("tenant ", i)
	}
	return names
}()

func (b *benchQueue) step(msg messages.ToQueue) {
	b.q.Handle(0, msg, &b.out)
	for i := 0; i < len(b.out.Sends); i++ {
		switch m := b.out.Sends[i].Msg.(type) {
		case *messages.PeekPrefixes:
			reply := &messages.PrefixesPeeked{Peeked: make([]messages.PrefixPeeked, len(m.Prefixes))}
			for j, p := range m.Prefixes {
				reply.Peeked[j].ID = p.ID
				if family := p.Tokens[0]; family%3 == 0 {
					reply.Peeked[j].Tokens = 33 + int(family%16)
					reply.Peeked[j].Path = []messages.NodeID{messages.NodeID(1 + family%10), messages.NodeID(100 + family)}
				}
			}
			b.q.Handle(0, reply, &b.out)
		case *messages.CandidatesOffered:
			b.last = m.Requests
		}
	}
	b.out.Reset()
}

// BenchmarkQueue is the change of a queue of a constant length: one request
// comes, and of 16 that are offered the first is claimed and ends. The time per
// change must not grow by more than the logarithm of the length.
func BenchmarkQueue(b *testing.B) {
	for _, policy := range Policies() {
		for _, waiting := range []int{100, 127, 129, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/waiting=%d", policy, waiting), func(b *testing.B) {
				b.ReportAllocs()
				s := &benchQueue{q: New(Options{SchedulePolicy: policy, Aging: 1})}
				m := &messages.EnqueueRequests{}
				for range waiting {
					m.Requests = append(m.Requests, s.request())
				}
				s.step(m)
				for b.Loop() {
					s.step(&messages.EnqueueRequests{Requests: []*messages.EngineRequest{s.request()}})
					s.plan++
					s.step(&messages.OfferCandidates{Plan: s.plan, Limit: 16})
					s.step(&messages.ClaimCandidates{IDs: requestIDs(s.last[:1])})
					s.step(&messages.StepResults{Ended: []messages.RequestEnded{{ID: s.last[0].ID}}})
				}
			})
		}
	}
}

// BenchmarkOnePrefix is an offer while all waiting requests follow one request that
// computes their common prefix, of which more is cached each time.
func BenchmarkOnePrefix(b *testing.B) {
	for _, waiting := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			b.ReportAllocs()
			s := &benchQueue{q: New(Options{SchedulePolicy: "lpm"})}
			m := &messages.EnqueueRequests{}
			for range waiting {
				r := s.request()
				r.Prompt = make([]int32, 300)
				r.Prompt[0], r.Prompt[299] = 1, int32(r.ID)
				m.Requests = append(m.Requests, r)
			}
			s.step(m)
			s.step(&messages.OfferCandidates{Plan: 1, Limit: 64})
			s.step(&messages.ClaimCandidates{IDs: requestIDs(s.last)})
			for b.Loop() {
				s.plan++
				s.step(&messages.OfferCandidates{Plan: s.plan, Limit: 64})
			}
			if len(s.last) > 0 {
				b.Fatalf("%d are offered, want none", len(s.last))
			}
		})
	}
}
