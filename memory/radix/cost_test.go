package radix

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// fill caches n sequences of a shared prefix and a suffix of their own, in
// tokens, on pages numbered from 1 on.
func fill(t *Tree, n, shared, suffix int) { fillStride(t, n, shared, suffix, 1) }

// fillStride is fill on every stride-th page.
func fillStride(t *Tree, n, shared, suffix int, stride messages.Page) {
	tokens := make([]int32, shared+suffix)
	for i := range tokens {
		tokens[i] = int32(i)
	}
	next := messages.Page(1)
	pages := make([]messages.Page, len(tokens)/t.PageSize())
	for seq := range n {
		for i := shared; i < len(tokens); i++ {
			tokens[i] = int32(seq*suffix + i + 1)
		}
		for i := range pages {
			pages[i] = next
			next += stride
		}
		t.Insert(messages.PrefixInsert{Tokens: tokens, Pages: pages}, nil)
	}
}

// TestEvictionCost counts comparisons of ranks: per freed node at most those of
// taking a leaf out of the heap and putting its parent in, however big the tree.
func TestEvictionCost(t *testing.T) {
	for _, leaves := range []int{100, 10_000, 100_000} {
		tree := NewTree(TreeOptions{PageSize: 1})
		fill(tree, leaves, 1, 4)
		limit := (heapWidth + 1) * (1 + bits.Len(uint(leaves))/2)
		evict := func(f func()) {
			t.Helper()
			nodes, compared := tree.Nodes(), tree.leaves.compared
			f()
			nodes, compared = nodes-tree.Nodes(), tree.leaves.compared-compared
			if nodes == 0 || compared > nodes*limit {
				t.Fatalf("%d leaves: evicting %d nodes compared %d times, limit %d each", leaves, nodes, compared, limit)
			}
		}
		for range 100 {
			evict(func() { tree.Evict(4, nil) })
		}
		evict(func() { tree.EvictAll(nil) })
		if tree.Nodes() != 0 {
			t.Fatalf("%d nodes are left", tree.Nodes())
		}
	}
}

// TestChainsStayShort checks the hash of children: of a hundred thousand hardly
// any two have the same key.
func TestChainsStayShort(t *testing.T) {
	for _, shared := range []int{0, 16} {
		tree := NewTree(TreeOptions{PageSize: 16})
		fill(tree, 100_000, shared, 16)
		longest := 0
		for _, i := range tree.children.first {
			length := 0
			for ; i != none; i = tree.nodes.at(i).chain {
				length++
			}
			longest = max(longest, length)
		}
		if longest > 3 || len(tree.children.first) < 99_900 {
			t.Errorf("shared %d: %d nodes of one key, %d keys of %d nodes", shared, longest, len(tree.children.first), tree.Nodes())
		}
	}
}

// TestGrowthIsGradual: no insertion pays for moving what earlier ones have built.
// What one allocates is bounded, however many nodes there are.
func TestGrowthIsGradual(t *testing.T) {
	tree := NewTree(TreeOptions{PageSize: 1})
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var before, most uint64
	for i := range 1 << 18 {
		tree.Insert(messages.PrefixInsert{Tokens: []int32{int32(i)}, Pages: []messages.Page{messages.Page(i + 1)}}, nil)
		metrics.Read(allocated)
		if now := allocated[0].Value.Uint64(); before > 0 {
			most = max(most, now-before)
		}
		metrics.Read(allocated)
		before = allocated[0].Value.Uint64()
	}
	t.Logf("at most %d bytes for one of %d nodes", most, tree.Nodes())
	if most > 1<<20 { // an array of 4 bytes a node would take more
		t.Errorf("an insertion allocates %d bytes", most)
	}
}

// heapAfter is the live heap that build's result holds.
func heapAfter(build func() *Tree) (bytes int, tree *Tree) {
	before := liveHeap()
	tree = build()
	return liveHeap() - before, tree
}

// liveHeap is the least of a few measurements: a single one also has garbage that the test
// runner and the runtime made during the collection.
func liveHeap() int {
	least := math.MaxInt
	for range 5 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		least = min(least, int(stats.HeapAlloc))
	}
	return least
}

// TestBytesPerToken fills a million tokens. The first shape is SGLang's: many
// sequences of 10,000 shared tokens and 100 of their own. Pages lie in runs, or
// none beside the next.
func TestBytesPerToken(t *testing.T) {
	for _, tc := range []struct {
		pageSize, sequences, shared, suffix int
		stride                              messages.Page
		limit                               float64
	}{
		{1, 9_900, 10_000, 100, 1, 6},
		{1, 4_000, 0, 256, 1, 5},
		{1, 1, 0, 1_000_000, 1, 4.3},
		{16, 4_000, 0, 256, 1, 5},
		{64, 1_000, 0, 1024, 1, 5},
		{1, 9_900, 10_000, 100, 2, 10},
		{1, 4_000, 0, 256, 2, 10},
		{1, 1, 0, 1_000_000, 2, 8.3},
		{16, 4_000, 0, 256, 2, 5},
		{64, 1_000, 0, 1024, 2, 5},
	} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			used, tree := heapAfter(func() *Tree {
				tree := NewTree(TreeOptions{PageSize: tc.pageSize})
				fillStride(tree, tc.sequences, tc.shared, tc.suffix, tc.stride)
				return tree
			})
			tokens := tree.Evictable() * tc.pageSize
			perToken := float64(used) / float64(tokens)
			t.Logf("%d tokens, %d nodes: %.2f bytes per token", tokens, tree.Nodes(), perToken)
			if tokens < 990_000 || perToken > tc.limit {
				t.Errorf("%d tokens take %.2f bytes each, limit %g", tokens, perToken, tc.limit)
			}
		})
	}
}

// TestMemoryAfterGrowthAndSplits makes a sequence page by page, as chunks of a
// long prompt do, cuts it at every page, and evicts all but the shared front:
// neither room to grow nor halves of old arrays may stay. Pages lie in one run,
// or none beside the next, which costs 4 bytes more each.
func TestMemoryAfterGrowthAndSplits(t *testing.T) {
	t.Run("run", func(t *testing.T) { memoryAfterGrowthAndSplits(t, 1, 0) })
	t.Run("scattered", func(t *testing.T) { memoryAfterGrowthAndSplits(t, 2, 4) })
}

func memoryAfterGrowthAndSplits(t *testing.T, stride int, perPage float64) {
	// kept is large: what else the process allocates meanwhile is divided by it.
	const pages, kept = 200_000, 80_000
	tokens, numbers := make([]int32, pages), make([]messages.Page, pages)
	for i := range tokens {
		tokens[i], numbers[i] = int32(i), messages.Page(i*stride+1)
	}
	check := func(name string, limit float64, build func() *Tree) {
		used, tree := heapAfter(build)
		perToken := float64(used) / float64(tree.Evictable())
		t.Logf("%s: %d nodes, %.2f bytes per token", name, tree.Nodes(), perToken)
		if limit += perPage; perToken > limit {
			t.Errorf("%s: %.2f bytes per token, limit %g", name, perToken, limit)
		}
	}
	grown := func() *Tree {
		tree := NewTree(TreeOptions{PageSize: 1})
		node, owned := messages.RootNode, 0
		for end := 1000; end <= pages; end += 1000 {
			out, _ := tree.Insert(messages.PrefixInsert{
				Tokens: tokens[:end], Pages: numbers[:end], Owned: owned, Node: node, Keep: true}, nil)
			node, owned = out.Node, end
		}
		tree.Unlock(node)
		return tree
	}
	check("grown", 4.3, grown)
	check("split in front", 5, func() *Tree {
		tree := grown()
		for end := 1; end <= 64; end++ {
			node, _ := tree.Lock("", tokens, end*end, nil)
			tree.Unlock(node)
		}
		return tree
	})
	check("split near the end", 5, func() *Tree {
		tree := grown()
		node, _ := tree.Lock("", tokens, pages-20_000, nil)
		tree.Unlock(node)
		return tree
	})
	check("tail evicted", 4.6, func() *Tree {
		tree := grown()
		node, _ := tree.Lock("", tokens, kept, nil)
		tree.EvictAll(nil)
		tree.Unlock(node)
		return tree
	})
	check("most of a leaf evicted", 4.6, func() *Tree {
		tree := grown()
		tree.Evict(pages-kept, nil)
		return tree
	})
	runtime.KeepAlive(tokens)
	runtime.KeepAlive(numbers)
}

// TestNoAllocations: what a decode step does to the cache costs none.
func TestNoAllocations(t *testing.T) {
	tree := NewTree(TreeOptions{PageSize: 16})
	fill(tree, 100, 64, 64)
	tokens := make([]int32, 64)
	for i := range tokens {
		tokens[i] = int32(i)
	}
	if n := testing.AllocsPerRun(100, func() { tree.Peek("", tokens) }); n != 0 {
		t.Errorf("Peek allocates %g times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		node, _ := tree.Lock("", tokens, 64, nil)
		tree.Unlock(node)
	}); n > 1 { // the pages
		t.Errorf("Lock and Unlock allocate %g times", n)
	}
	into := make([]messages.Page, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		node, _ := tree.Lock("", tokens, 64, into)
		tree.Unlock(node)
	}); n != 0 {
		t.Errorf("Lock into the caller's pages, and Unlock, allocate %g times", n)
	}
	freed := make([]messages.PageRun, 0, 64)
	if n := testing.AllocsPerRun(50, func() { freed, _ = tree.Evict(1, freed[:0]) }); n != 0 {
		t.Errorf("Evict allocates %g times", n)
	}
}
