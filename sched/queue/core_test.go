package queue

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// queueWorld drives a Core by random operations, beside a slow twin of its
// order: the twin keeps lists and sorts all of them for each offer.
type queueWorld struct {
	t    *rapid.T
	opt  Options
	q    *Core
	out  messages.Outbox
	now  time.Duration
	next messages.RequestID
	page messages.Page
	plan messages.PlanID

	cache   *radix.Core
	peek    *messages.PeekPrefixes   // not yet with the cache
	peeked  *messages.PrefixesPeeked // not yet with the queue
	pending *messages.OfferCandidates

	waiting  []*messages.EngineRequest // in order of enqueueing
	pinned   map[messages.RequestID]bool
	running  []*messages.EngineRequest
	offered  []*messages.EngineRequest
	believed int
	twin     slowOrder
}

// slowOrder is the twin of one policy. waiting are those that the policy
// orders, without the aged and pinned ones.
type slowOrder interface {
	add(r *messages.EngineRequest)
	remove(r *messages.EngineRequest, claimed bool)
	hint(p *messages.PrefixPeeked)
	results(m *messages.StepResults)
	finish(id messages.RequestID)
	// offer says that an offer begins.
	offer(now time.Duration)
	// check compares an offer with what it must be.
	check(t *rapid.T, waiting, got []*messages.EngineRequest, limit int, now time.Duration)
}

func newQueueWorld(t *rapid.T, policy string) *queueWorld {
	opt := Options{
		SchedulePolicy: policy, Aging: rapid.SampledFrom([]time.Duration{0, 0, 50}).Draw(t, "aging"),
		PageSize: rapid.SampledFrom([]int{1, 4, 64}).Draw(t, "page"), Seed: rapid.Uint64().Draw(t, "seed"),
		LowPriorityFirst: rapid.Bool().Draw(t, "low first"),
	}
	return &queueWorld{
		t: t, opt: opt, q: New(opt), next: 1, pinned: map[messages.RequestID]bool{},
		cache: radix.New(radix.Options{PageSize: opt.PageSize}),
		twin:  newSlowOrder(&opt),
	}
}

func (w *queueWorld) step(msg messages.ToQueue) {
	w.q.Handle(w.now, msg, &w.out)
	for _, s := range w.out.Sends {
		switch m := s.Msg.(type) {
		case *messages.PeekPrefixes:
			if w.peek != nil || w.peeked != nil {
				w.t.Fatal("two PeekPrefixes at a time")
			}
			w.peek = m
		case *messages.CandidatesOffered:
			w.check(m)
		case *messages.CandidatesWaiting:
			w.believed = w.q.Waiting()
		case *messages.FinishRequests:
			if s.To != messages.Former || s.Msg != any(msg) {
				w.t.Fatalf("FinishRequests was not passed on: %v", s)
			}
		}
	}
	if _, ok := msg.(*messages.FinishRequests); ok && len(w.out.Sends) != 1 {
		w.t.Fatalf("FinishRequests made %v", w.out.Sends)
	}
	w.out.Reset()
}

// urgent reports whether a request goes first whatever the policy.
func (w *queueWorld) urgent(r *messages.EngineRequest) bool {
	return w.pinned[r.ID] || w.q.waiting.aging > 0 && w.now-r.Arrived >= w.q.waiting.aging
}

func (w *queueWorld) check(m *messages.CandidatesOffered) {
	offer := w.pending
	w.pending = nil
	if offer == nil || m.Plan != offer.Plan || m.Waiting != len(w.waiting) || len(m.Requests) > offer.Limit {
		w.t.Fatalf("%+v answers %+v while %d wait", m, offer, len(w.waiting))
	}
	var first, rest []*messages.EngineRequest
	for _, r := range w.waiting {
		if w.urgent(r) {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	slices.SortFunc(first, func(a, b *messages.EngineRequest) int {
		if w.pinned[a.ID] != w.pinned[b.ID] {
			return map[bool]int{true: -1, false: 1}[w.pinned[a.ID]]
		}
		return arrival(a, b)
	})
	first = first[:min(len(first), offer.Limit)]
	if got := m.Requests[:min(len(first), len(m.Requests))]; !slices.Equal(got, first) {
		w.t.Fatalf("offered %v first, want %v", requestIDs(got), requestIDs(first))
	}
	w.twin.check(w.t, rest, m.Requests[len(first):], offer.Limit-len(first), w.now)
	for _, r := range m.Requests {
		if r.Alone && !w.pinned[r.ID] {
			w.pinned[r.ID] = true
			if w.q.waiting.aging == 0 || w.now-r.Arrived < w.q.waiting.aging {
				w.twin.remove(r, false)
			}
		}
	}
	w.offered, w.believed = m.Requests, m.Waiting
}

func (w *queueWorld) enqueue(t *rapid.T) {
	m := &messages.EnqueueRequests{}
	for range rapid.IntRange(0, 4).Draw(t, "n") {
		r := drawWaiting(t, w.next, w.now)
		w.next++
		m.Requests = append(m.Requests, r)
		w.waiting = append(w.waiting, r)
		w.twin.add(r)
	}
	w.step(m)
}

// drawWaiting draws a request whose prompt begins like others'.
func drawWaiting(t *rapid.T, id messages.RequestID, now time.Duration) *messages.EngineRequest {
	n := rapid.IntRange(1, 150).Draw(t, "length")
	r := &messages.EngineRequest{
		ID: id, Prompt: make([]int32, n), Priority: int32(rapid.IntRange(-2, 2).Draw(t, "priority")),
		Tenant: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "tenant"), Alone: rapid.IntRange(0, 20).Draw(t, "alone") == 0,
		Namespace: rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "namespace"),
		Arrived:   max(0, now-time.Duration(rapid.IntRange(0, 20).Draw(t, "before"))),
		Params:    &messages.SamplingParams{MaxTokens: 50 + rapid.IntRange(0, 3).Draw(t, "max"), PromptLogprobs: messages.NoLogprobs},
	}
	stem, fork := int32(rapid.IntRange(1, 2).Draw(t, "stem")), rapid.IntRange(0, n).Draw(t, "fork")
	for i := range r.Prompt {
		r.Prompt[i] = stem
		if i >= fork {
			r.Prompt[i] = int32(id) + 10
		}
	}
	if n > 2 && rapid.IntRange(0, 6).Draw(t, "resubmitted") == 0 {
		r.Prompt, r.Output = r.Prompt[:n/2], r.Prompt[n/2:]
	}
	return r
}

func (w *queueWorld) drop(ids []messages.RequestID, claimed bool) {
	for _, id := range ids {
		i := slices.IndexFunc(w.waiting, func(r *messages.EngineRequest) bool { return r.ID == id })
		if i < 0 {
			continue
		}
		r := w.waiting[i]
		w.waiting = slices.Delete(w.waiting, i, i+1)
		// The line takes a request from its policy at the first offer that
		// finds it old; until then the policy has it, whatever its age.
		if !w.pinned[id] && !(w.q.waiting.aging > 0 && w.q.waiting.byID[id].aged) {
			w.twin.remove(r, claimed)
		}
		if claimed {
			w.running = append(w.running, r)
		}
	}
}

func (w *queueWorld) finish(t *rapid.T) {
	var ids []messages.RequestID
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		ids = append(ids, messages.RequestID(rapid.IntRange(1, int(w.next)+1).Draw(t, "id")))
	}
	w.drop(ids, false)
	for _, id := range ids {
		w.twin.finish(id)
	}
	w.step(&messages.FinishRequests{IDs: ids})
}

func (w *queueWorld) offer(t *rapid.T) {
	if w.pending != nil {
		return
	}
	w.plan++
	w.pending = &messages.OfferCandidates{Plan: w.plan, Limit: rapid.IntRange(1, 6).Draw(t, "limit")}
	w.step(w.pending)
}

func (w *queueWorld) claim(t *rapid.T) {
	n := rapid.IntRange(0, len(w.offered)).Draw(t, "n")
	ids := requestIDs(w.offered[:n])
	w.offered = nil
	w.drop(ids, true)
	w.step(&messages.ClaimCandidates{IDs: ids})
}

// results are a step of what runs: tokens for some, a prompt done, an end.
func (w *queueWorld) results(t *rapid.T) {
	m := &messages.StepResults{Step: 1}
	w.running = slices.DeleteFunc(w.running, func(r *messages.EngineRequest) bool {
		what := rapid.IntRange(0, 5).Draw(t, "what")
		switch what {
		case 0:
			m.Ended = append(m.Ended, messages.RequestEnded{ID: r.ID})
		case 1:
			m.Prompts = append(m.Prompts, messages.PromptResult{ID: r.ID})
			m.Tokens = append(m.Tokens, messages.TokenResult{ID: r.ID})
		case 2, 3:
			m.Tokens = append(m.Tokens, messages.TokenResult{ID: r.ID})
		}
		return what == 0
	})
	w.twin.results(m)
	if w.opt.WantsResults() {
		w.step(m)
	}
}

// store puts a part of a running request's prompt into the cache.
func (w *queueWorld) store(t *rapid.T) {
	if len(w.running) == 0 {
		return
	}
	r := rapid.SampledFrom(w.running).Draw(t, "running")
	pages := rapid.IntRange(0, len(r.Prompt)/w.opt.PageSize).Draw(t, "pages")
	if pages == 0 {
		return
	}
	in := messages.PrefixInsert{ID: r.ID, Namespace: r.Namespace, Tokens: r.Prompt[:pages*w.opt.PageSize], Pages: make([]messages.Page, pages)}
	for i := range in.Pages {
		w.page++
		in.Pages[i] = w.page
	}
	w.commit(&messages.CommitPlan{Inserts: []messages.PrefixInsert{in}})
}

func (w *queueWorld) commit(m *messages.CommitPlan) {
	w.plan++
	m.Plan = w.plan
	var out messages.Outbox
	w.cache.Handle(w.now, m, &out)
}

// deliver moves the hints on by one message.
func (w *queueWorld) deliver(*rapid.T) {
	switch {
	case w.peek != nil:
		var out messages.Outbox
		w.cache.Handle(w.now, w.peek, &out)
		w.peek, w.peeked = nil, out.Sends[0].Msg.(*messages.PrefixesPeeked)
	case w.peeked != nil:
		m := w.peeked
		w.peeked = nil
		for i := range m.Peeked {
			w.twin.hint(&m.Peeked[i])
		}
		w.step(m)
	}
}

func testQueue(t *rapid.T, policy string) {
	w := newQueueWorld(t, policy)
	t.Repeat(map[string]func(*rapid.T){
		"enqueue": w.enqueue, "finish": w.finish, "offer": w.offer, "claim": w.claim, "results": w.results,
		"store": w.store, "deliver": w.deliver, "deliver more": w.deliver,
		"evict": func(*rapid.T) { w.commit(&messages.CommitPlan{EvictPages: 5}) },
		"wait":  func(t *rapid.T) { w.now += time.Duration(rapid.IntRange(0, 30).Draw(t, "d")) },
		"": func(t *rapid.T) {
			if w.believed == 0 && len(w.waiting) > 0 {
				t.Fatalf("%d requests wait, but the last offer said that none do", len(w.waiting))
			}
			tokens := 0
			for _, r := range w.waiting {
				tokens += r.Len()
			}
			if w.q.Waiting() != len(w.waiting) || w.q.tokens != tokens {
				t.Fatalf("%d requests of %d tokens, want %d of %d", w.q.Waiting(), w.q.tokens, len(w.waiting), tokens)
			}
		},
	})
	// Whatever happened, every request is offered once nothing runs any more.
	w.running = nil
	for id := range w.next {
		w.twin.finish(id)
		w.twin.results(&messages.StepResults{Ended: []messages.RequestEnded{{ID: id}}})
		if w.opt.WantsResults() {
			w.step(&messages.StepResults{Ended: []messages.RequestEnded{{ID: id}}})
		}
	}
	for empty := 0; len(w.waiting) > 0; {
		w.offer(t)
		for w.peek != nil || w.peeked != nil {
			w.deliver(t)
		}
		if w.pending != nil {
			t.Fatal("an offer is not answered although nothing is missing")
		}
		if len(w.offered) == 0 {
			if empty++; empty > 2 {
				t.Fatalf("no request is offered although %d wait and nothing runs", len(w.waiting))
			}
			continue
		}
		empty = 0
		ids := requestIDs(w.offered[:1])
		w.drop(ids, true)
		w.running = nil
		w.step(&messages.ClaimCandidates{IDs: ids})
		ended := &messages.StepResults{Ended: []messages.RequestEnded{{ID: ids[0]}}}
		w.twin.results(ended)
		if w.opt.WantsResults() {
			w.step(ended)
		}
	}
}

func TestQueueEqualsTwin(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) { testQueue(t, policy) }))
	}
}

func arrival(a, b *messages.EngineRequest) int {
	if a.Arrived != b.Arrived {
		return int(a.Arrived - b.Arrived)
	}
	return int(a.ID) - int(b.ID)
}

func requestIDs(requests []*messages.EngineRequest) []messages.RequestID {
	ids := make([]messages.RequestID, len(requests))
	for i, r := range requests {
		ids[i] = r.ID
	}
	return ids
}
