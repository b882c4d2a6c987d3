package memory

import "testing"

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
			tree := user{Tree: NewTree(bc.opts)}
			token := int32(0)
			var prompt []int32
			talk := func(i int) {
				prompt = prompt[:0]
				for turn := range 1 + i%3 {
					for range (1 + turn + i%7) * pageSize {
						token++
						prompt = append(prompt, token)
					}
					tree.bring(prompt)
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
				tree.evict(b, batch)
				nodes += before - tree.Nodes()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(nodes), "ns/node")
		})
	}
}
