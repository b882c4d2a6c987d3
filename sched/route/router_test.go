package route

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/messages"
)

// twinRouter is the Router without any structure: every question walks all of
// it.
type twinRouter struct {
	opt      Options
	pages    []twinPage // from the one used last to the one used least recently
	requests map[messages.RequestID]routed
	down     []bool
	reports  []Report
	turn     int
}

type twinPage struct {
	hash  uint64
	holds map[int]bool
}

func (t *twinRouter) find(hash uint64) int {
	return slices.IndexFunc(t.pages, func(p twinPage) bool { return p.hash == hash })
}

func (t *twinRouter) matched(replica int, pages []uint64) int {
	for n, hash := range pages {
		if i := t.find(hash); i < 0 || !t.pages[i].holds[replica] {
			return n
		}
	}
	return len(pages)
}

func (t *twinRouter) add(replica int, pages []uint64) {
	for i := len(pages) - 1; i >= 0; i-- {
		p := twinPage{hash: pages[i], holds: map[int]bool{}}
		if at := t.find(pages[i]); at >= 0 {
			p = t.pages[at]
			t.pages = slices.Delete(t.pages, at, at+1)
		}
		p.holds[replica] = true
		t.pages = slices.Insert(t.pages, 0, p)
	}
	t.pages = t.pages[:min(len(t.pages), t.opt.MaxPages)]
}

func (t *twinRouter) remove(replica int, pages []uint64) {
	for _, hash := range pages {
		if i := t.find(hash); i >= 0 {
			delete(t.pages[i].holds, replica)
		}
	}
	t.pages = slices.DeleteFunc(t.pages, func(p twinPage) bool { return len(p.holds) == 0 })
}

func (t *twinRouter) clear(replica int) {
	var all []uint64
	for _, p := range t.pages {
		all = append(all, p.hash)
	}
	t.remove(replica, all)
}

func (t *twinRouter) lost(replica int) (ids []messages.RequestID) {
	t.down[replica], t.reports[replica] = true, Report{}
	t.clear(replica)
	for _, id := range slices.Sorted(maps.Keys(t.requests)) {
		if t.requests[id].replica == replica {
			ids = append(ids, id)
			delete(t.requests, id)
		}
	}
	return ids
}

func (t *twinRouter) held(replica int) (n int) {
	for _, p := range t.pages {
		if p.holds[replica] {
			n++
		}
	}
	return n
}

func (t *twinRouter) load(replica int) (l Load) {
	for _, c := range t.requests {
		switch {
		case c.replica != replica:
		case c.running:
			l.Running++
			l.RunningTokens += c.tokens
		default:
			l.Waiting++
			l.WaitingTokens += c.unshared
		}
	}
	return l
}

// ahead is the work ahead of a new request, in seconds.
func (t *twinRouter) ahead(replica int) float64 {
	l, others := t.load(replica), t.reports[replica].Others
	return (float64(l.WaitingTokens+others.WaitingTokens) + decodeWeight*float64(l.RunningTokens+others.RunningTokens)) / t.speed(replica)
}

func (t *twinRouter) route(q Request) (Route, bool) {
	delete(t.requests, q.ID)
	type rank struct{ cost, load, held, turn float64 }
	best, to, matched := rank{cost: math.Inf(1)}, -1, 0
	for i := range t.down {
		if t.down[i] {
			continue
		}
		m := min(t.matched(i, q.Pages), (q.Tokens-1)/t.opt.PageSize)
		if t.opt.Policy != CacheAware {
			m = 0
		}
		l, others, speed := t.load(i), t.reports[i].Others, t.speed(i)
		tokens := float64(l.WaitingTokens+others.WaitingTokens) + decodeWeight*float64(l.RunningTokens+others.RunningTokens)
		r := rank{
			cost: (tokens + float64(q.Tokens-m*t.opt.PageSize)) / speed, load: tokens / speed,
			held: float64(t.held(i)), turn: float64((i - t.turn + len(t.down)) % len(t.down)),
		}
		if t.opt.Policy == RoundRobin {
			r = rank{turn: r.turn}
		}
		if slices.Compare([]float64{r.cost, r.load, r.held, r.turn}, []float64{best.cost, best.load, best.held, best.turn}) < 0 {
			best, to, matched = r, i, m
		}
	}
	if to < 0 {
		return Route{}, false
	}
	if t.opt.Policy == CacheAware {
		t.add(to, q.Pages)
	}
	t.requests[q.ID] = routed{replica: to, tokens: q.Tokens, unshared: q.Tokens - matched*t.opt.PageSize}
	t.turn = (to + 1) % len(t.down)
	return Route{to, matched}, true
}

// speed is the replica's, the mean of those that have one, or 1.
func (t *twinRouter) speed(replica int) float64 {
	sum, n := 0.0, 0
	for _, r := range t.reports {
		if r.Speed > 0 {
			sum, n = sum+r.Speed, n+1
		}
	}
	own := t.reports[replica].Speed
	switch mean := sum / float64(n); {
	case n == 0:
		return 1
	case own == 0 || own <= mean*1.5 && own >= mean/1.5: // up to 1.5, both ways
		return mean
	}
	return own
}

func TestRouterAgainstTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		opt := Options{
			Policy:   rapid.SampledFrom([]string{CacheAware, LeastLoaded, RoundRobin}).Draw(r, "policy"),
			Replicas: rapid.SampledFrom([]int{0, 1, 2, 3, 63, 64, 70, 127, 130}).Draw(r, "replicas"),
			PageSize: 4, MaxPages: rapid.IntRange(1, 30).Draw(r, "max"),
		}
		router := New(opt)
		twin := &twinRouter{opt: opt, requests: map[messages.RequestID]routed{}, down: make([]bool, opt.Replicas), reports: make([]Report, opt.Replicas)}
		prompt := func() []uint64 { // prefixes of a small tree
			var pages []uint64
			hash := uint64(0)
			for range rapid.IntRange(0, 6).Draw(r, "depth") {
				hash = hash*3 + uint64(rapid.IntRange(1, 2).Draw(r, "edge"))
				pages = append(pages, hash)
			}
			return pages
		}
		replica := func() int {
			if len(twin.down) == 0 {
				r.Skip("no replica has joined")
			}
			return rapid.IntRange(0, len(twin.down)-1).Draw(r, "replica")
		}
		id := func() messages.RequestID { return messages.RequestID(rapid.IntRange(1, 12).Draw(r, "id")) }
		r.Repeat(map[string]func(*rapid.T){
			"route": func(r *rapid.T) {
				pages := prompt()
				q := Request{ID: id(), Tokens: len(pages)*4 + rapid.IntRange(0, 3).Draw(r, "tail"), Pages: pages}
				q.Tokens = max(q.Tokens, 1)
				got, ok := router.Route(q)
				want, wantOK := twin.route(q)
				if got != want || ok != wantOK {
					r.Fatalf("%+v goes to %+v %v, want %+v %v", q, got, ok, want, wantOK)
				}
			},
			"idlest": func(r *rapid.T) {
				odd := rapid.Bool().Draw(r, "odd")
				got, ok := router.Idlest(func(i int) bool { return !odd || i%2 == 1 })
				least, some := math.Inf(1), false
				for i, down := range twin.down {
					if !down && (!odd || i%2 == 1) {
						least, some = min(least, twin.ahead(i)), true
					}
				}
				if ok != some || ok && (twin.down[got] || odd && got%2 == 0 || twin.ahead(got) != least) {
					r.Fatalf("the idlest is %d (%t), the least load is %v (%t)", got, ok, least, some)
				}
			},
			"started": func(r *rapid.T) {
				n := id()
				router.Started(n)
				if c, ok := twin.requests[n]; ok {
					c.running = true
					twin.requests[n] = c
				}
			},
			"ended": func(r *rapid.T) {
				n := id()
				router.Ended(n)
				delete(twin.requests, n)
			},
			"stored": func(r *rapid.T) {
				to, pages := replica(), prompt()
				router.index.add(to, pages)
				twin.add(to, pages)
			},
			"removed": func(r *rapid.T) {
				to, pages := replica(), prompt()
				pages = pages[len(pages)/2:]
				router.index.remove(to, pages)
				twin.remove(to, pages)
			},
			"cleared": func(r *rapid.T) {
				to := replica()
				router.index.clear(to)
				twin.clear(to)
			},
			"changed": func(r *rapid.T) {
				to, stored, removed := replica(), prompt(), prompt()
				m := &messages.CacheChanged{Events: []messages.CacheEvent{
					{Kind: messages.PagesStored, Hashes: stored}, {Kind: messages.PagesRemoved, Hashes: removed},
				}}
				twin.add(to, stored)
				twin.remove(to, removed)
				if rapid.Bool().Draw(r, "clears") {
					m.Events = append(m.Events, messages.CacheEvent{Kind: messages.PagesCleared})
					twin.clear(to)
				}
				router.Changed(to, m)
			},
			"lost": func(r *rapid.T) {
				to := replica()
				if got, want := router.Lost(to), twin.lost(to); !slices.Equal(got, want) {
					r.Fatalf("replica %d loses %v, want %v", to, got, want)
				}
			},
			"joins": func(r *rapid.T) {
				to := rapid.IntRange(0, len(twin.down)+2).Draw(r, "replica")
				router.Join(to)
				for to >= len(twin.down) {
					twin.down, twin.reports = append(twin.down, true), append(twin.reports, Report{})
				}
				twin.down[to] = false
			},
			"reports": func(r *rapid.T) {
				to := replica()
				report := Report{
					Others: Load{WaitingTokens: rapid.IntRange(0, 50).Draw(r, "waiting"), RunningTokens: rapid.IntRange(0, 50).Draw(r, "running")},
					// Powers of two: their sums and quotients are exact in any order.
					Speed: rapid.SampledFrom([]float64{0, 0, 1, 1.25, 2, 4, 16}).Draw(r, "speed"),
				}
				router.Reported(to, report)
				twin.reports[to] = report
			},
			"available": func(r *rapid.T) {
				to, ok := replica(), rapid.Bool().Draw(r, "ok")
				router.SetAvailable(to, ok)
				twin.down[to] = !ok
			},
			"": func(r *rapid.T) {
				if len(router.index.slots) != len(twin.pages) {
					r.Fatalf("%d pages in the index, want %d", len(router.index.slots), len(twin.pages))
				}
				for n := range messages.RequestID(13) {
					got, ok := router.Replica(n)
					if want, wantOK := twin.requests[n]; got != want.replica || ok != wantOK {
						r.Fatalf("request %d is at %d %v, want %d %v", n, got, ok, want.replica, wantOK)
					}
				}
				for i := range twin.down {
					if router.Load(i) != twin.load(i) || router.index.held[i] != twin.held(i) {
						r.Fatalf("replica %d: %+v with %d pages, want %+v with %d",
							i, router.Load(i), router.index.held[i], twin.load(i), twin.held(i))
					}
				}
			},
		})
	})
}

// pagesOf are the hashes of a made-up prompt: equal beginnings of names give
// equal beginnings of pages.
func pagesOf(conversation, n int) []uint64 {
	pages := make([]uint64, n)
	for i := range pages {
		pages[i] = splitmix.Mix(uint64(conversation)<<32 | uint64(i))
	}
	return pages
}

// What users of SGLang's router report (cache-aware routing that ignores load
// on a miss, or counts it too late) and what must hold instead.
func TestRouterPainPoints(t *testing.T) {
	const page = 64
	for _, replicas := range []int{2, 8, 64} { // behaviour does not drift with their number
		newRouter := func() *Router { return New(Options{Replicas: replicas, PageSize: page}) }
		next := messages.RequestID(0)
		route := func(r *Router, tokens int, pages []uint64) Route {
			next++
			to, ok := r.Route(Request{ID: next, Tokens: tokens, Pages: pages})
			if !ok {
				t.Fatal("no replica")
			}
			return to
		}
		name := func(what string) string { return fmt.Sprintf("%d replicas/%s", replicas, what) }

		t.Run(name("a burst of misses spreads evenly before any news"), func(t *testing.T) {
			r := newRouter()
			for i := range 10 * replicas {
				route(r, 100*page, pagesOf(i, 100))
			}
			for i := range replicas {
				if l := r.Load(i); l.Waiting != 10 {
					t.Errorf("replica %d has %d of %d requests", i, l.Waiting, 10*replicas)
				}
			}
		})
		t.Run(name("a miss goes to the least loaded, not to the smallest tree"), func(t *testing.T) {
			r := newRouter()
			for i := range replicas { // all are known, and one is not busy any more
				route(r, 100*page, pagesOf(i, 100))
			}
			r.index.add(1, pagesOf(1<<20, 1000)) // and has the biggest tree
			r.Ended(next - messages.RequestID(replicas-2))
			if to := route(r, 100*page, pagesOf(1<<21, 100)); to.Replica != 1 {
				t.Errorf("the miss goes to replica %d", to.Replica)
			}
		})
		t.Run(name("a shared system prompt does not gather all requests"), func(t *testing.T) {
			r := newRouter()
			for i := range 10 * replicas {
				pages := slices.Concat(pagesOf(0, 10), pagesOf(i+1, 90))
				route(r, 100*page, pages)
			}
			for i := range replicas {
				if l := r.Load(i); l.Waiting < 8 || l.Waiting > 12 {
					t.Errorf("replica %d has %d of %d requests", i, l.Waiting, 10*replicas)
				}
			}
		})
		t.Run(name("turns of a conversation stay together"), func(t *testing.T) {
			r := newRouter()
			first := map[int]int{}
			for turn := 1; turn <= 5; turn++ {
				for c := range 3 * replicas {
					to := route(r, 20*turn*page+1, pagesOf(c, 20*turn))
					if turn == 1 {
						first[c] = to.Replica
					}
					if to.Replica != first[c] || to.Matched != 20*(turn-1) {
						t.Fatalf("turn %d of conversation %d goes to %+v, the first went to %d", turn, c, to, first[c])
					}
				}
				for id := range next + 1 {
					r.Ended(id)
				}
			}
		})
		t.Run(name("a match loses against a queue that is longer than it saves"), func(t *testing.T) {
			r := newRouter()
			r.index.add(1, pagesOf(7, 50))
			for waiting := 0; waiting < 50; waiting += 10 { // pages at replica 1, none elsewhere
				pages := slices.Concat(pagesOf(7, 50), pagesOf(8+waiting, 10))
				if to := route(r, 60*page, pages); to.Replica != 1 || to.Matched != 50 {
					t.Fatalf("it goes to %+v while %d pages wait at replica 1 and its match saves 50", to, waiting)
				}
			}
			if to := route(r, 60*page, slices.Concat(pagesOf(7, 50), pagesOf(99, 10))); to.Replica == 1 {
				t.Error("it queues behind 50 pages for a match of 50")
			}
		})
		t.Run(name("running requests count as load"), func(t *testing.T) {
			r := newRouter()
			var busy Route
			for range replicas - 1 {
				busy = route(r, 100*page, nil)
				r.Started(next)
			}
			if to := route(r, page, nil); to.Replica == busy.Replica || r.Load(to.Replica).Running > 0 {
				t.Errorf("the request joins a busy replica, %d", to.Replica)
			}
		})
		t.Run(name("evicted pages attract no request"), func(t *testing.T) {
			r := newRouter()
			home := route(r, 50*page+1, pagesOf(7, 50)).Replica
			r.Ended(next)
			r.index.remove(home, pagesOf(7, 50))
			if to := route(r, 50*page+1, pagesOf(7, 50)); to.Matched != 0 || to.Replica == home && replicas > 1 {
				t.Errorf("it goes to %+v, as if replica %d still held its pages", to, home)
			}
		})
		t.Run(name("a lost replica gets nothing, and its requests move"), func(t *testing.T) {
			r := newRouter()
			home := route(r, 50*page+1, pagesOf(7, 50)).Replica
			r.SetAvailable(home, false)
			r.index.clear(home)
			to, ok := r.Route(Request{ID: next, Tokens: 50*page + 1, Pages: pagesOf(7, 50)})
			if !ok || to.Replica == home || r.Load(home) != (Load{}) {
				t.Errorf("it is routed to %+v (%v), and replica %d keeps %+v", to, ok, home, r.Load(home))
			}
			for i := range replicas {
				r.SetAvailable(i, false)
			}
			if _, ok := r.Route(Request{ID: 1, Tokens: 1}); ok {
				t.Error("a request is routed although no replica is available")
			}
		})
	}
}

func TestRandomRoutingIsSeededAndEven(t *testing.T) {
	run := func(seed uint64) (all []int, counts [5]int) {
		r := New(Options{Policy: Random, Replicas: 5, PageSize: 1, Seed: seed})
		for id := range 5000 {
			to, _ := r.Route(Request{ID: messages.RequestID(id), Tokens: 1})
			all = append(all, to.Replica)
			counts[to.Replica]++
		}
		return all, counts
	}
	one, counts := run(1)
	again, _ := run(1)
	other, _ := run(2)
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Error("the order does not follow the seed")
	}
	for i, n := range counts {
		if n < 850 || n > 1150 {
			t.Errorf("replica %d gets %d of 5000", i, n)
		}
	}
}

func TestRouterRefusesOptions(t *testing.T) {
	for want, opt := range map[string]Options{
		"cache-aware, least-loaded": {Policy: "sticky", Replicas: 1, PageSize: 1},
		"Replicas is -1;":           {Replicas: -1, PageSize: 1},
		"Replicas is 65537;":        {Replicas: 65537, PageSize: 1},
		"power of two":              {Replicas: 1, PageSize: 48},
		"it must be at least 0":     {Replicas: 1, PageSize: 1, MaxPages: -1},
	} {
		if err := opt.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// BenchmarkRoute decides on prompts of 128 pages that every replica holds a part of: alone,
// and with other routers.
func BenchmarkRoute(b *testing.B) {
	for _, shared := range []bool{false, true} {
		for _, replicas := range []int{16, 64, 1000} {
			b.Run(fmt.Sprintf("replicas=%d/shared=%t", replicas, shared), func(b *testing.B) {
				r := New(Options{Replicas: replicas, PageSize: 64})
				prompts := make([][]uint64, 256)
				for i := range prompts {
					prompts[i] = pagesOf(i, 128)
					for k := range replicas {
						r.index.add(k, prompts[i][:(k*37+i)%129])
					}
				}
				id := messages.RequestID(0)
				route := func() {
					id++
					r.Route(Request{ID: id, Tokens: 128 * 64, Pages: prompts[id%256]})
					r.Ended(id)
				}
				for k := range replicas {
					if route(); shared {
						r.Reported(k, Report{Others: Load{Waiting: 1, WaitingTokens: k * 512}, Speed: 20_000})
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					route()
				}
			})
		}
	}
}

// A joining replica does not make the index larger than its bound, and a lost one leaves
// nothing behind.
func TestIndexStaysWithinItsBytes(t *testing.T) {
	r := New(Options{PageSize: 16})
	for i := range 200 {
		r.Join(i)
		r.index.add(i, pagesOf(i, 20_000))
		if bytes := len(r.index.slots) * (pageBytes + wordBytes*r.index.words); bytes > defaultIndexBytes {
			t.Fatalf("%d pages of %d replicas take %d bytes", len(r.index.slots), i+1, bytes)
		}
	}
	if want := defaultIndexBytes / (pageBytes + 4*wordBytes); len(r.index.slots) != want {
		t.Errorf("%d pages are in the index, want %d", len(r.index.slots), want)
	}
	for i := range 200 {
		r.Lost(i)
	}
	if n := len(r.index.slots); n > 0 {
		t.Errorf("%d pages of nobody are in the index", n)
	}
	if _, ok := r.Route(Request{ID: 1, Tokens: 1}); ok {
		t.Error("a request is routed to a replica that was lost")
	}
}
