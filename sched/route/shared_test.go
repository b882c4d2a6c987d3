package route

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

// bursts has several routers send to the same replicas: all route a request at the same time,
// again and again. Between two bursts the requests are reported, begin, end, and that is
// reported, too. It returns how many requests each replica gets in each burst.
func bursts(routers []*Router, replicas, times int, pages func(burst, router int) []uint64) (all [][]int) {
	next := messages.RequestID(0)
	report := func() {
		for i := range replicas {
			var sum Load
			for _, r := range routers {
				l := r.Load(i)
				sum.Waiting, sum.WaitingTokens = sum.Waiting+l.Waiting, sum.WaitingTokens+l.WaitingTokens
			}
			for _, r := range routers {
				l := r.Load(i)
				r.Reported(i, Report{Others: Load{Waiting: sum.Waiting - l.Waiting, WaitingTokens: sum.WaitingTokens - l.WaitingTokens}})
			}
		}
	}
	for burst := range times {
		counts := make([]int, replicas)
		next++
		for k, r := range routers {
			prompt := pages(burst, k)
			to, _ := r.Route(Request{ID: next, Tokens: 4*len(prompt) + 1, Pages: prompt})
			counts[to.Replica]++
		}
		report()
		for i, r := range routers {
			to, _ := r.Replica(next)
			r.Ended(next)
			for k, other := range routers { // hears of what is cached
				if k != i {
					other.Changed(to, &messages.CacheChanged{Events: []messages.CacheEvent{{Kind: messages.PagesStored, Hashes: pages(burst, i)}}})
				}
			}
		}
		report()
		all = append(all, counts)
	}
	return all
}

// Several routers that have the same reports do not choose the same replica, and leave none
// out. The prompts have a first page in common, so that replicas which have it look better.
func TestRoutersDoNotPileUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		replicas, n := rapid.IntRange(4, 16).Draw(r, "replicas"), rapid.IntRange(4, 8).Draw(r, "routers")
		policy := rapid.SampledFrom([]string{CacheAware, LeastLoaded}).Draw(r, "policy")
		seed := rapid.Uint64Range(0, 1<<40).Draw(r, "seed")
		var routers []*Router
		for i := range n {
			routers = append(routers, New(Options{Replicas: replicas, PageSize: 4, Policy: policy, Seed: seed + uint64(i)}))
		}
		const times, learned = 300, 100
		sum, most := make([]int, replicas), 0
		for _, counts := range bursts(routers, replicas, times, func(burst, router int) []uint64 {
			return append(pagesOf(0, 1), pagesOf(burst*n+router+1, 15)...)
		})[learned:] {
			top := 0
			for i, c := range counts {
				sum[i] += c
				top = max(top, c)
			}
			most += top
		}
		mean := float64(n*(times-learned)) / float64(replicas)
		for i, c := range sum {
			if float64(c) < 0.5*mean || float64(c) > 1.6*mean {
				r.Errorf("replica %d gets %d requests of %v", i, c, sum)
			}
		}
		even := (n + replicas - 1) / replicas
		if got := float64(most) / (times - learned); got > float64(even)+1.8 {
			r.Errorf("of a burst of %d requests to %d replicas, on average %.1f meet at one", n, replicas, got)
		}
	})
}

// A router that learns of others' bursts still sends the turns of a conversation to the
// replica that has it.
func TestConversationsStayTogether(t *testing.T) {
	const replicas, n, turns = 8, 4, 10
	var routers []*Router
	for i := range n {
		routers = append(routers, New(Options{Replicas: replicas, PageSize: 4, Seed: uint64(i)}))
	}
	bursts(routers, replicas, 200, func(burst, router int) []uint64 { return pagesOf(burst*n+router+1, 16) })
	if routers[0].replicas[0].unheard.requests() == 0 {
		t.Fatal("the routers have learned nothing of each other")
	}
	for turn := 1; turn <= turns; turn++ {
		counts := bursts(routers, replicas, 1, func(_, router int) []uint64 { return pagesOf(1_000_000+router, 16*turn) })
		for i, r := range routers {
			r.index.match(pagesOf(1_000_000+i, 16*turn), r.scratch[:cap(r.scratch)])
			have := 0
			for replica := range replicas {
				if r.scratch[replica] == 16*turn {
					have++
				}
			}
			if have != 1 {
				t.Fatalf("after turn %d, %d replicas have conversation %d; the last requests went to %v", turn, have, i, counts)
			}
		}
	}
}

// What a replica had from others before it joined is not new.
func TestFirstReportTeachesNothing(t *testing.T) {
	r := New(Options{Replicas: 2, PageSize: 4})
	busy := Report{Others: Load{Waiting: 100, WaitingTokens: 1000}}
	for id := range messages.RequestID(10) {
		r.Route(Request{ID: id, Tokens: 1})
	}
	r.Join(2)
	for _, more := range []int{0, 0, 3} {
		busy.Others.Waiting += more
		r.Reported(2, busy)
		if got := r.replicas[2].unheard.requests(); got > 0 != (more > 0) {
			t.Errorf("after %d more, %v requests are taken for unheard of", more, got)
		}
		r.Route(Request{ID: 100, Tokens: 1})
	}
	r.Lost(2)
	r.Join(2)
	r.Reported(2, busy)
	if got := r.replicas[2].unheard.requests(); got > 0 {
		t.Errorf("after it was lost and is back, %v requests are taken for unheard of", got)
	}
}

// Alone, a router chooses as if there were no others: its choice does not depend on the seed.
func TestOneRouterDoesNotDraw(t *testing.T) {
	var all [2][][]int
	for seed := range all {
		r := New(Options{Replicas: 5, PageSize: 4, Seed: uint64(seed)})
		all[seed] = bursts([]*Router{r}, 5, 50, func(burst, _ int) []uint64 { return pagesOf(burst%7, 16) })
	}
	for i := range all[0] {
		for k := range all[0][i] {
			if all[0][i][k] != all[1][i][k] {
				t.Fatalf("request %d goes to another replica with another seed", i)
			}
		}
	}
}

// The third cost equals the level but for rounding, which made it belong to the lower ones in
// every other step.
func TestTheLevelIsFoundInSpiteOfRounding(t *testing.T) {
	r := New(Options{Replicas: 3, PageSize: 16})
	r.costs = []float64{0.5045876335061454, 0.412844427414119, 0.45871603046013215}
	r.rates = []float64{11161.589436637289, 11161.589436637289, 11161.589436637289}
	if got := r.level(512.0000000000013); math.Abs(got-0.458716) > 1e-6 {
		t.Errorf("the level is %v", got)
	}
}
