package gittins

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// user of a tree brings whole prompts, with new pages for what is not cached.
type user struct {
	*radix.Tree
	next  messages.Page
	pages []messages.Page
	freed []messages.PageRun
}

func (u *user) bring(prompt []int32) {
	node, pages := u.Lock("", prompt, len(prompt), u.pages[:0])
	owned := len(pages)
	for len(pages) < len(prompt)/u.PageSize() {
		u.next++
		pages = append(pages, u.next)
	}
	u.pages = pages
	u.Insert(messages.PrefixInsert{Tokens: prompt, Pages: pages, Owned: owned, Node: node}, nil)
}

func (u *user) evict(t testing.TB, pages int) {
	var err error
	if u.freed, err = u.Evict(pages, u.freed[:0]); err != nil {
		t.Fatal(err)
	}
}

// trees are LRU, the same with the memory of evicted pages that gittins needs,
// and gittins.
func trees(b *testing.B, pageSize, history int, run func(*testing.B, user)) {
	for _, bc := range []struct {
		name string
		opts radix.TreeOptions
	}{
		{"lru", radix.TreeOptions{Policy: radix.LRU{}}},
		{"lru-history", radix.TreeOptions{Policy: radix.LRU{}, History: history}},
		{"gittins", radix.TreeOptions{Policy: New(), History: history}},
	} {
		bc.opts.PageSize = pageSize
		b.Run(bc.name, func(b *testing.B) { run(b, user{Tree: radix.NewTree(bc.opts)}) })
	}
}

// BenchmarkRequest is what a request of 24 pages costs the tree: lock, insert,
// and evict as much as came, with 6000 pages cached. Half of the requests
// continue one of the last 500.
func BenchmarkRequest(b *testing.B) {
	const pageSize, cached = 64, 6000
	trees(b, pageSize, 4*cached, func(b *testing.B, tree user) {
		rng := rand.New(rand.NewPCG(1, 2))
		prompts := make([][]int32, 500)
		token, evicted := int32(0), 0
		for i := 0; b.Loop(); i++ {
			was := prompts[rng.IntN(len(prompts))]
			prompt := append([]int32(nil), was...)
			brought := 8
			if rng.IntN(2) == 0 || len(was) > 60*pageSize {
				prompt, brought = prompt[:0], 20
			}
			for range brought * pageSize {
				token++
				prompt = append(prompt, token)
			}
			prompts[i%len(prompts)] = prompt
			tree.bring(prompt)
			over := max(0, tree.Evictable()-cached)
			evicted += over
			tree.evict(b, over)
		}
		b.ReportMetric(float64(evicted)/float64(b.N), "evicted/op")
	})
}

// BenchmarkEvict is what evicting a node costs among 41 000, conversations of one
// to three turns and of many lengths. Under gittins an eviction looks at both
// ends of every class.
func BenchmarkEvict(b *testing.B) {
	const cached, batch, pageSize = 41000, 4000, 16
	trees(b, pageSize, 4*cached, func(b *testing.B, tree user) {
		token, conversations, nodes := int32(0), 0, 0
		var prompt []int32
		for b.Loop() {
			b.StopTimer()
			for ; tree.Nodes() < cached; conversations++ {
				prompt = prompt[:0]
				for turn := range 1 + conversations%3 {
					for range (1 + turn + conversations%7) * pageSize {
						token++
						prompt = append(prompt, token)
					}
					tree.bring(prompt)
				}
			}
			before := tree.Nodes()
			b.StartTimer()
			tree.evict(b, batch)
			nodes += before - tree.Nodes()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(nodes), "ns/node")
	})
}
