package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

func newSlowOrder(opt *Options) slowOrder {
	by := func(key func(r *messages.EngineRequest) int64) slowOrder { return &slowRank{key: key} }
	switch opt.SchedulePolicy {
	case "lof":
		return by(func(r *messages.EngineRequest) int64 { return int64(len(r.Output) - r.Params.MaxTokens) })
	case "priority":
		return by(func(r *messages.EngineRequest) int64 {
			if opt.LowPriorityFirst {
				return int64(r.Priority)
			}
			return -int64(r.Priority)
		})
	case "random":
		return by(rankOf(&Options{SchedulePolicy: "random", Seed: opt.Seed}))
	case "lpm":
		return &slowLPM{share: max(32, opt.PageSize), known: map[messages.RequestID]*slowHint{}}
	case "dfs-weight":
		return &slowDFS{members: map[messages.RequestID]bool{}, at: map[messages.RequestID]messages.NodeID{}, parent: map[messages.NodeID]messages.NodeID{}}
	case "fair":
		return &slowFair{aging: opt.Aging, counter: map[string]float64{}, served: map[string]time.Duration{}, running: map[messages.RequestID]string{}}
	}
	return by(func(*messages.EngineRequest) int64 { return 0 })
}

// deaf is a twin that needs to hear of nothing but offers.
type deaf struct{}

func (deaf) add(*messages.EngineRequest)          {}
func (deaf) remove(*messages.EngineRequest, bool) {}
func (deaf) hint(*messages.PrefixPeeked)          {}
func (deaf) results(*messages.StepResults)        {}
func (deaf) finish(messages.RequestID)            {}
func (deaf) offer(time.Duration)                  {}

type slowRank struct {
	deaf
	key func(r *messages.EngineRequest) int64
}

func (s *slowRank) check(t *rapid.T, waiting, got []*messages.EngineRequest, limit int, _ time.Duration) {
	slices.SortFunc(waiting, func(a, b *messages.EngineRequest) int {
		return cmp.Or(cmp.Compare(s.key(a), s.key(b)), arrival(a, b))
	})
	equalOffer(t, got, waiting, limit)
}

func equalOffer(t *rapid.T, got, all []*messages.EngineRequest, limit int) {
	if want := all[:min(limit, len(all))]; !slices.Equal(got, want) {
		t.Fatalf("offered %v, want %v", requestIDs(got), requestIDs(want))
	}
}

// slowDFS knows the last node of each request and the last parent of each node,
// and walks the whole tree for each offer.
type slowDFS struct {
	deaf
	members map[messages.RequestID]bool
	at      map[messages.RequestID]messages.NodeID // asked for
	parent  map[messages.NodeID]messages.NodeID
}

func (s *slowDFS) add(r *messages.EngineRequest) { s.members[r.ID] = true }
func (s *slowDFS) remove(r *messages.EngineRequest, _ bool) {
	delete(s.members, r.ID)
	delete(s.at, r.ID)
}

func (s *slowDFS) hint(p *messages.PrefixPeeked) {
	if !s.members[p.ID] {
		return
	}
	cur := messages.RootNode
	for _, id := range p.Path {
		s.parent[id] = cur
		cur = id
	}
	s.at[p.ID] = cur
}

func (s *slowDFS) check(t *rapid.T, waiting, got []*messages.EngineRequest, limit int, _ time.Duration) {
	weight, own := map[messages.NodeID]int{}, map[messages.NodeID][]*messages.EngineRequest{}
	for _, r := range waiting {
		at, ok := s.at[r.ID]
		if !ok {
			continue
		}
		own[at] = append(own[at], r)
		for ; at != messages.RootNode; at = s.parent[at] {
			weight[at]++
		}
	}
	var all []*messages.EngineRequest
	var descend func(node messages.NodeID)
	descend = func(node messages.NodeID) {
		var children []messages.NodeID
		for child := range weight {
			if s.parent[child] == node {
				children = append(children, child)
			}
		}
		slices.SortFunc(children, func(a, b messages.NodeID) int {
			return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
		})
		for _, child := range children {
			descend(child)
		}
		slices.SortFunc(own[node], arrival)
		all = append(all, own[node]...)
	}
	descend(messages.RootNode)
	equalOffer(t, got, all, limit)
}

// slowLPM does not compute the offer; it says what an offer must fulfil.
type slowLPM struct {
	deaf
	share   int
	known   map[messages.RequestID]*slowHint
	fillers []*slowFiller
}

type slowHint struct {
	r       *messages.EngineRequest
	matched int // -1: not asked
	passed  int // offers in a row that left it out for no visible reason
}

// slowFiller is a request that runs and fills the cache for others.
type slowFiller struct {
	id     messages.RequestID
	key    string
	only   bool // no other request did at its claim
	done   bool
	offers int // answered since
}

// filling reports whether a request fills the cache with a prefix: surely, or
// perhaps.
func (s *slowLPM) filling(key string, surely bool) bool {
	return key != "" && slices.ContainsFunc(s.fillers, func(f *slowFiller) bool {
		return f.key == key && (!f.done && (f.only || !surely) || !surely && f.offers < 3)
	})
}

func (s *slowLPM) add(r *messages.EngineRequest) { s.known[r.ID] = &slowHint{r: r, matched: -1} }

func (s *slowLPM) remove(r *messages.EngineRequest, claimed bool) {
	if key := s.key(s.known[r.ID]); claimed && key != "" {
		s.fillers = append(s.fillers, &slowFiller{id: r.ID, key: key, only: !s.filling(key, false)})
	}
	delete(s.known, r.ID)
}

func (s *slowLPM) hint(p *messages.PrefixPeeked) {
	if h := s.known[p.ID]; h != nil {
		h.matched = p.Tokens
	}
}

func (s *slowLPM) results(m *messages.StepResults) {
	for _, p := range m.Prompts {
		s.finish(p.ID)
	}
	for _, e := range m.Ended {
		s.finish(e.ID)
	}
}

func (s *slowLPM) finish(id messages.RequestID) {
	for _, f := range s.fillers {
		f.done = f.done || f.id == id
	}
}

// key is what requests have in common that must not be offered together; "" if
// there is nothing.
func (s *slowLPM) key(h *slowHint) string {
	if h == nil || h.matched < 0 || h.matched > 32 || h.r.Alone {
		return ""
	}
	tokens := append(slices.Clone(h.r.Prompt), h.r.Output...)
	if len(tokens)-1 < h.matched+s.share {
		return ""
	}
	return fmt.Sprint(h.r.Namespace, tokens[:h.matched+s.share])
}

func (s *slowLPM) check(t *rapid.T, waiting, got []*messages.EngineRequest, limit int, _ time.Duration) {
	rank := func(a, b *messages.EngineRequest) int {
		return cmp.Or(cmp.Compare(s.known[b.ID].matched, s.known[a.ID].matched), arrival(a, b))
	}
	if !slices.IsSortedFunc(got, rank) {
		t.Fatalf("offered %v, which is not by cached prefix", requestIDs(got))
	}
	leaders := map[string]messages.RequestID{}
	for _, r := range got {
		h := s.known[r.ID]
		key := s.key(h)
		switch other, ok := leaders[key]; {
		case h.matched < 0:
			t.Fatalf("request %d is offered although the cache was not asked", r.ID)
		case key != "" && ok:
			t.Fatalf("requests %d and %d are offered together and share an uncached prefix", other, r.ID)
		case s.filling(key, true):
			t.Fatalf("request %d is offered although one that runs computes its prefix", r.ID)
		}
		leaders[key] = r.ID
		h.passed = 0
	}
	for _, r := range waiting {
		h := s.known[r.ID]
		key := s.key(h)
		after := len(got) == limit && (limit == 0 || rank(got[limit-1], r) < 0)
		if slices.Contains(got, r) || after || s.filling(key, false) {
			h.passed = 0
			continue
		}
		led := slices.ContainsFunc(waiting, func(o *messages.EngineRequest) bool {
			return key != "" && s.key(s.known[o.ID]) == key && arrival(o, r) < 0
		})
		if led {
			h.passed = 0
		} else if h.passed++; h.passed > 3 {
			t.Fatalf("request %d with %d cached tokens was left out %d times for no reason: offered %v of at most %d", r.ID, h.matched, h.passed, requestIDs(got), limit)
		}
	}
	for _, f := range s.fillers {
		if f.done {
			f.offers++
		}
	}
	s.fillers = slices.DeleteFunc(s.fillers, func(f *slowFiller) bool { return f.offers > 3 })
}

// slowFair is algorithm 2 of the paper with lists.
type slowFair struct {
	deaf
	aging   time.Duration
	waiting []*messages.EngineRequest
	counter map[string]float64
	served  map[string]time.Duration
	running map[messages.RequestID]string
	left    string
	hasLeft bool
	now     time.Duration // of the last offer
}

func (s *slowFair) waits(tenant string) bool {
	return slices.ContainsFunc(s.waiting, func(r *messages.EngineRequest) bool { return r.Tenant == tenant })
}

func (s *slowFair) add(r *messages.EngineRequest) {
	if !s.waits(r.Tenant) {
		switch {
		case len(s.waiting) > 0:
			least := s.counter[s.waiting[0].Tenant]
			for _, o := range s.waiting {
				least = min(least, s.counter[o.Tenant])
			}
			s.counter[r.Tenant] = max(s.counter[r.Tenant], least)
		case s.hasLeft:
			s.counter[r.Tenant] = max(s.counter[r.Tenant], s.counter[s.left])
		}
	}
	s.waiting = append(s.waiting, r)
}

func (s *slowFair) remove(r *messages.EngineRequest, claimed bool) {
	s.waiting = slices.DeleteFunc(s.waiting, func(o *messages.EngineRequest) bool { return o == r })
	if claimed {
		s.counter[r.Tenant] += float64(r.Len())
		s.served[r.Tenant] = s.now
		s.running[r.ID] = r.Tenant
	}
	if !s.waits(r.Tenant) {
		s.left, s.hasLeft = r.Tenant, true
	}
}

func (s *slowFair) results(m *messages.StepResults) {
	for _, token := range m.Tokens {
		if tenant, ok := s.running[token.ID]; ok {
			s.counter[tenant] += 2
		}
	}
	for _, e := range m.Ended {
		delete(s.running, e.ID)
	}
}

func (s *slowFair) check(t *rapid.T, waiting, got []*messages.EngineRequest, limit int, now time.Duration) {
	if limit == 0 {
		return
	}
	s.now = now
	slices.SortFunc(waiting, arrival)
	counter := map[string]float64{}
	var heads, want []*messages.EngineRequest
	for _, r := range waiting {
		if _, ok := counter[r.Tenant]; !ok {
			counter[r.Tenant] = s.counter[r.Tenant]
			heads = append(heads, r)
		}
	}
	since := func(r *messages.EngineRequest) time.Duration { return max(r.Arrived, s.served[r.Tenant]) }
	slices.SortStableFunc(heads, func(a, b *messages.EngineRequest) int { return cmp.Compare(since(a), since(b)) })
	take := func(r *messages.EngineRequest) {
		want = append(want, r)
		counter[r.Tenant] += float64(r.Len())
		waiting = slices.DeleteFunc(waiting, func(o *messages.EngineRequest) bool { return o == r })
	}
	for _, r := range heads {
		if s.aging > 0 && now-since(r) >= s.aging && len(want) < limit {
			take(r)
		}
	}
	for len(want) < limit && len(waiting) > 0 {
		best := waiting[0]
		for _, r := range waiting {
			if counter[r.Tenant] < counter[best.Tenant] {
				best = r // the tenant's oldest, since they are sorted
			}
		}
		take(best)
	}
	equalOffer(t, got, want, limit)
}
