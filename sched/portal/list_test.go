package portal

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

const testPage = 2 // tokens

// listing is a portal with the engine's cache, and gateways with their routers. Messages
// between cache and portal wait in mailboxes.
type listing struct {
	*scene
	cache    *radix.Core
	out      messages.Outbox
	toCache  []messages.ToCache
	toPortal []messages.ToPortal
	routers  map[messages.EngineID]*route.Router
	part     int // pages of a part; 0: as the portal asks
	plan     messages.PlanID
	page     messages.Page
	locked   []messages.NodeID
	stored   map[uint64]bool // each page that ever was
	parts    int
	longest  time.Duration // in the cache
}

func newListing(t failer, pageSize int, events bool) *listing {
	l := &listing{scene: newScene(t), routers: map[messages.EngineID]*route.Router{}, stored: map[uint64]bool{},
		cache: radix.New(radix.Options{PageSize: pageSize, Events: events})}
	l.out.Own = messages.Header{Epoch: 1}
	l.up(1)
	return l
}

func (l *listing) join(slot messages.EngineID) {
	l.routers[slot] = route.New(route.Options{Replicas: 1, PageSize: testPage})
	l.portal(&messages.GatewayJoined{Gateway: slot})
}

// portal gives the portal a message, and its messages to the gateways.
func (l *listing) portal(msg messages.ToPortal) {
	for _, send := range l.step(msg) {
		switch m := send.Msg.(type) {
		case *messages.ListPages:
			if m.Max > 0 && l.part > 0 {
				m.Max = l.part
			}
			l.toCache = append(l.toCache, m)
		case *messages.CacheChanged:
			if r := l.routers[m.Engine]; r != nil {
				r.Changed(0, m)
			}
		}
	}
}

// commit has the cache do what its batch former asks for.
func (l *listing) commit(m messages.ToCache) {
	l.out.Reset()
	begun := time.Now()
	l.cache.Handle(0, m, &l.out)
	l.longest = max(l.longest, time.Since(begun))
	for _, send := range l.out.Sends {
		switch m := send.Msg.(type) {
		case *messages.PrefixesLocked:
			for i := range m.Matches {
				if node := m.Matches[i].Node; node != messages.RootNode {
					l.locked = append(l.locked, node)
				}
			}
		case *messages.CacheChanged:
			for _, e := range m.Events {
				for _, hash := range e.Hashes {
					l.stored[hash] = true
				}
			}
			l.toPortal = append(l.toPortal, m)
		case *messages.PagesListed:
			l.parts++
			l.toPortal = append(l.toPortal, m)
		}
	}
}

// deliver hands over the oldest message of one mailbox.
func (l *listing) deliver(toCache bool) bool {
	switch {
	case toCache && len(l.toCache) > 0:
		m := l.toCache[0]
		l.toCache = l.toCache[1:]
		l.commit(m)
	case !toCache && len(l.toPortal) > 0:
		m := l.toPortal[0]
		l.toPortal = l.toPortal[1:]
		l.portal(m)
	default:
		return false
	}
	return true
}

func (l *listing) drain() {
	for l.deliver(true) || l.deliver(false) {
	}
}

// holds reports whether a router knows a page.
func holds(r *route.Router, hash uint64) bool {
	to, _ := r.Route(route.Request{ID: 1, Tokens: 2 * testPage, Pages: []uint64{hash}})
	r.Ended(1)
	return to.Matched == 1
}

// Gateways join while the cache stores, splits, evicts and is emptied. In the end each of
// them knows the same pages as one that has listened from the start: those in the cache.
func TestGatewaysThatJoinKnowWhatIsCached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newListing(t, testPage, true)
		l.part = rapid.SampledFrom([]int{1, 1, 4}).Draw(t, "part")
		l.join(0)
		tokens := func() []int32 { // a beginning of one of some texts, so that nodes are split
			text := rapid.Int32Range(0, 5).Draw(t, "text")
			list := make([]int32, testPage*rapid.IntRange(1, 8).Draw(t, "pages"))
			for i := range list {
				list[i] = text
			}
			if rapid.IntRange(0, 3).Draw(t, "differs") == 0 {
				list[len(list)-1] = 99
			}
			return list
		}
		namespace := func() string { return rapid.SampledFrom([]string{"", "", "a"}).Draw(t, "namespace") }
		insert := func() {
			l.plan++
			list := tokens()
			in := messages.PrefixInsert{ID: 1, Namespace: namespace(), Tokens: list}
			for range len(list) / testPage {
				l.page++
				in.Pages = append(in.Pages, l.page)
			}
			l.commit(&messages.CommitPlan{Plan: l.plan, Inserts: []messages.PrefixInsert{in}})
		}
		rarely := func() bool { return rapid.IntRange(0, 9).Draw(t, "rarely") == 0 }
		for range rapid.IntRange(0, 15).Draw(t, "before") {
			insert()
		}
		for l.deliver(false) {
		}
		l.join(1)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(*rapid.T) { insert() },
			"lock": func(*rapid.T) {
				l.plan++
				list := tokens()
				l.commit(&messages.LockPrefixes{Plan: l.plan, Prefixes: []messages.PrefixLock{{ID: 1, Namespace: namespace(), Tokens: list, Limit: len(list)}}})
				l.commit(&messages.CommitPlan{Plan: l.plan})
			},
			"unlock": func(*rapid.T) {
				l.plan++
				l.commit(&messages.CommitPlan{Plan: l.plan, Unlocks: l.locked})
				l.locked = nil
			},
			"evict": func(*rapid.T) {
				l.plan++
				l.commit(&messages.CommitPlan{Plan: l.plan, EvictPages: rapid.IntRange(1, 3).Draw(t, "pages")})
			},
			"empty": func(*rapid.T) {
				if rarely() {
					l.plan++
					l.commit(&messages.CommitPlan{Plan: l.plan, EvictAll: true})
				}
			},
			"join": func(*rapid.T) { l.join(messages.EngineID(rapid.IntRange(2, 3).Draw(t, "slot"))) },
			"leave": func(*rapid.T) {
				if slot := messages.EngineID(rapid.IntRange(1, 3).Draw(t, "slot")); rarely() {
					delete(l.routers, slot)
					l.portal(&messages.GatewayLeft{Gateway: slot})
				}
			},
			"a part": func(*rapid.T) {
				l.deliver(true)
				l.deliver(false)
			},
			"to the cache":  func(*rapid.T) { l.deliver(true) },
			"to the portal": func(*rapid.T) { l.deliver(false) },
		})
		if n := len(l.toCache); n > 1 {
			t.Fatalf("%d parts are asked for at once", n)
		}
		l.drain()
		cached := map[uint64]bool{}
		list, next := l.cache.Tree().List(0, 1<<20, nil)
		for _, hash := range list {
			cached[hash] = true
		}
		if tree := l.cache.Tree(); next != 0 || len(list) != tree.Evictable()+tree.Protected() || len(cached) != len(list) {
			t.Fatalf("%d pages are listed, then %d; %d are cached", len(list), next, tree.Evictable()+tree.Protected())
		}
		for hash := range l.stored {
			for slot, r := range l.routers {
				if holds(r, hash) != cached[hash] {
					t.Fatalf("gateway %d knows page %x: %t, it is cached: %t", slot, hash, !cached[hash], cached[hash])
				}
			}
		}
	})
}

// Lists are made one after the other, each to its end, and not past the end of an epoch.
func TestOneListAtATime(t *testing.T) {
	s := newScene(t)
	s.up(1)
	asked := func(sends []messages.Send) *messages.ListPages {
		t.Helper()
		list := sent[*messages.ListPages](sends, messages.Cache)
		if len(list) > 1 {
			t.Fatalf("asked %d times", len(list))
		}
		return append(list, nil)[0]
	}
	join := func(slot int) *messages.ListPages {
		return asked(s.step(&messages.GatewayJoined{Gateway: messages.EngineID(slot)}))
	}
	part := func(of *messages.ListPages, next uint64, hashes ...uint64) (got map[messages.EngineID]string, ask *messages.ListPages) {
		sends := s.step(&messages.PagesListed{Header: of.Header, Ticket: of.Ticket, Hashes: hashes, Next: next})
		got = map[messages.EngineID]string{}
		for _, m := range sent[*messages.CacheChanged](sends, messages.Observer) {
			got[m.Engine] += fmt.Sprintf("%d %d %s %d", m.Seq, m.Epoch, m.Events[0].Kind, m.Events[0].Hashes)
		}
		return got, asked(sends)
	}
	first := join(1)
	if first == nil || first.Header != at(0, 1) || first.After != 0 || first.Max != 4096 {
		t.Fatalf("the first gateway asks %+v", first)
	}
	if join(2) != nil || join(3) != nil {
		t.Fatal("others do not wait")
	}
	got, second := part(first, 7, 10, 11)
	if got[1] != "0 1 stored [10 11]" || len(got) != 1 || second == nil || second.After != 7 {
		t.Fatalf("gateways get %v, then %+v is asked", got, second)
	}
	if got, again := part(first, 8, 12); len(got) > 0 || again != nil {
		t.Errorf("a part that comes twice causes %v, %v", got, again)
	}
	// Gateway 1 leaves: its list is made to the end. Gateway 2 leaves: it is skipped.
	s.step(&messages.GatewayLeft{Gateway: 1})
	s.step(&messages.GatewayLeft{Gateway: 2})
	got, second = part(second, 9, 13)
	if len(got) > 0 || second == nil || second.After != 9 {
		t.Fatalf("after it has left, gateways get %v and %+v is asked", got, second)
	}
	_, next := part(second, 0)
	if next == nil || next.After != 0 {
		t.Fatalf("then %+v is asked", next)
	}
	if got, _ := part(next, 3, 14); got[3] != "0 1 stored [14]" {
		t.Errorf("gateway 3 gets %v", got)
	}
	if s.step(&messages.EpochEnded{Header: at(0, 1)}); s.list.gateway != nil {
		t.Error("the list goes on after the epoch")
	}
	if asked(s.up(2)) != nil {
		t.Error("of an empty cache a list is asked for")
	}
	if got, again := part(next, 4, 15); len(got) > 0 || again != nil {
		t.Errorf("a part of the old epoch causes %v, %v", got, again)
	}
}

// A list that is longer than a router keeps is made to its end, but not sent on.
func TestListsAreBounded(t *testing.T) {
	s := newScene(t)
	s.up(1)
	ask := sent[*messages.ListPages](s.step(&messages.GatewayJoined{Gateway: 1}), messages.Cache)
	pages := make([]uint64, 1<<20)
	got := 0
	for part := range 6 {
		sends := s.step(&messages.PagesListed{Header: at(0, 1), Ticket: ask[0].Ticket, Hashes: pages, Next: uint64(part) + 1})
		for _, m := range sent[*messages.CacheChanged](sends, messages.Observer) {
			got += len(m.Events[0].Hashes)
		}
		if ask = sent[*messages.ListPages](sends, messages.Cache); len(ask) != 1 {
			t.Fatalf("after part %d nothing is asked", part)
		}
	}
	if got != mostListed {
		t.Errorf("%d pages are sent on, want %d", got, mostListed)
	}
}

// Without events of the cache there is nothing to list.
func TestNoListWithoutEvents(t *testing.T) {
	l := newListing(t, testPage, false)
	l.commit(&messages.CommitPlan{Plan: 1, Inserts: []messages.PrefixInsert{{ID: 1, Tokens: make([]int32, testPage), Pages: []messages.Page{1}}}})
	l.join(1)
	if l.drain(); l.parts != 1 || len(l.list.waiting) > 0 || l.list.gateway != nil {
		t.Errorf("%d parts, for %v", l.parts, l.list)
	}
}

// BenchmarkList is the list of a million pages, from the cache through the portal into a
// router: of conversations, whose nodes have 8 pages, and of single pages.
func BenchmarkList(b *testing.B) {
	for _, c := range []struct {
		name string
		each int
	}{{"8 pages a node", 8}, {"1 page a node", 1}} {
		b.Run(c.name, func(b *testing.B) {
			l := newListing(b, 16, true)
			const pages = 1 << 20
			for n := range pages / c.each {
				l.plan++
				tokens := make([]int32, 16*c.each)
				tokens[0], tokens[1] = int32(n), int32(n>>16)
				in := messages.PrefixInsert{ID: 1, Tokens: tokens}
				for range c.each {
					l.page++
					in.Pages = append(in.Pages, l.page)
				}
				l.commit(&messages.CommitPlan{Plan: l.plan, Inserts: []messages.PrefixInsert{in}})
				l.toPortal = l.toPortal[:0]
				clear(l.stored)
			}
			l.longest, l.parts = 0, 0
			var router time.Duration
			for b.Loop() {
				l.join(1)
				for l.deliver(true) {
					begun := time.Now()
					l.deliver(false)
					router = max(router, time.Since(begun))
				}
				if l.parts < pages/partPages {
					b.Fatalf("the list has %d parts only", l.parts)
				}
			}
			b.ReportMetric(float64(l.longest.Microseconds()), "µs-longest-in-cache")
			b.ReportMetric(float64(router.Microseconds()), "µs-longest-in-router")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/list")
		})
	}
}
