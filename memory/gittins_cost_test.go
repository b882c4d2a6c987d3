package memory

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// BenchmarkEvictAmongLeaves is what freeing a node costs among 41 000 unlocked
// leaves, conversations of one to three turns and of many lengths. Eviction
// under gittins looks at both ends of every class.
func BenchmarkEvictAmongLeaves(b *testing.B) {
	const leaves, batch, pageSize = 41000, 4000, 16
	for _, bc := range []struct {
		name string
		opts TreeOptions
	}{
		{"lru", TreeOptions{Policy: LRU{}}},
		{"lru-history", TreeOptions{Policy: LRU{}, History: 4 * leaves}},
		{"gittins", TreeOptions{Policy: NewGittins(), History: 4 * leaves}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			bc.opts.PageSize = pageSize
			tree := NewTree(bc.opts)
			var pages []messages.Page
			var freed []messages.PageRun
			next, token := messages.Page(0), int32(0)
			request := func(prompt []int32) {
				node, matched := tree.Lock("", prompt, len(prompt), pages[:0])
				owned := len(matched)
				for pages = matched; len(pages) < len(prompt)/pageSize; {
					next++
					pages = append(pages, next)
				}
				tree.Insert(messages.PrefixInsert{Tokens: prompt, Pages: pages, Owned: owned, Node: node}, nil)
			}
			var prompt []int32
			talk := func(i int) {
				prompt = prompt[:0]
				for turn := range 1 + i%3 {
					for range (1 + turn + i%7) * pageSize {
						token++
						prompt = append(prompt, token)
					}
					request(prompt)
				}
			}
			conversations := 0
			fill := func() {
				for tree.leaves.len() < leaves {
					talk(conversations)
					conversations++
				}
			}
			nodes := 0
			for b.Loop() {
				b.StopTimer()
				fill()
				before := tree.Nodes()
				b.StartTimer()
				var err error
				if freed, err = tree.Evict(batch, freed[:0]); err != nil {
					b.Fatal(err)
				}
				nodes += before - tree.Nodes()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(nodes), "ns/node")
		})
	}
}
