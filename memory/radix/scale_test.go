package radix

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

const (
	scaleShared = 512 // tokens that all sequences of scaledTree begin with
	scaleOwn    = 512
)

// scaledTree caches about tokens tokens in sequences of equal shape.
func scaledTree(pageSize, tokens int) *Tree {
	tree := NewTree(TreeOptions{PageSize: pageSize})
	fill(tree, tokens/scaleOwn, scaleShared, scaleOwn)
	return tree
}

// scaleRound does to a scaled tree what a request does: it finds the shared
// prefix, adds half of a sequence of its own, and the oldest one goes.
func scaleRound(tree *Tree, round int, tokens []int32, pages []messages.Page, freed []messages.PageRun) []messages.PageRun {
	for i := scaleShared; i < len(tokens); i++ {
		tokens[i] = -int32(round*scaleOwn+i) - 1
	}
	node, matched := tree.Lock("", tokens, len(tokens), pages[:0])
	owned := len(matched)
	pages = matched[:len(tokens)/tree.PageSize()]
	for i := owned; i < len(pages); i++ {
		pages[i] = messages.Page(1<<28 + round*len(pages) + i)
	}
	tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: pages, Owned: owned, Node: node}, nil)
	freed, _ = tree.Evict(scaleOwn/tree.PageSize(), freed[:0])
	return freed
}

// TestWorkDoesNotDependOnSize counts, operation by operation.
func TestWorkDoesNotDependOnSize(t *testing.T) {
	sizes := []int{1_000_000, 10_000_000}
	if os.Getenv("TROUPE_SOAK") != "" {
		sizes = append(sizes, 50_000_000)
	}
	for _, pageSize := range []int{1, 16} {
		var want []work
		for _, size := range sizes {
			tree := scaledTree(pageSize, size)
			tokens := sequence(1, scaleShared, scaleOwn)
			pages := make([]messages.Page, 0, len(tokens)/pageSize)
			freed := make([]messages.PageRun, 0, len(tokens))
			var got []work
			operation := func(f func()) {
				before := tree.work
				f()
				after := tree.work
				got = append(got, work{after.nodeVisits - before.nodeVisits, after.wordsCompared - before.wordsCompared})
			}
			for round := range 3 {
				operation(func() { tree.Peek("", tokens) })
				operation(func() {
					node, _ := tree.Lock("", tokens, len(tokens), nil)
					tree.Unlock(node)
				})
				operation(func() { tree.Peek("", sequence(round+9, scaleShared, scaleOwn)) })
				operation(func() { freed = scaleRound(tree, round, tokens, pages, freed) })
			}
			if cached := tree.Evictable() * pageSize; cached < size*99/100 {
				t.Fatalf("only %d tokens of %d are cached", cached, size)
			}
			if want == nil {
				want = got
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || got[0].wordsCompared != scaleShared+scaleOwn {
				t.Errorf("page size %d, %d tokens: %v, with %d tokens %v", pageSize, size, got, sizes[0], want)
			}
			runtime.KeepAlive(tree)
		}
	}
}

// BenchmarkScale does whole requests, 1024 tokens each, in caches of three
// sizes. Times should stay within a factor of two.
func BenchmarkScale(b *testing.B) {
	for _, pageSize := range []int{1, 64} {
		for _, size := range []int{1_000_000, 10_000_000, 50_000_000} {
			b.Run(fmt.Sprintf("pagesize=%d/tokens=%d", pageSize, size), func(b *testing.B) {
				tree := scaledTree(pageSize, size)
				tokens := sequence(1, scaleShared, scaleOwn)
				pages := make([]messages.Page, 0, len(tokens)/pageSize)
				freed := make([]messages.PageRun, 0, len(tokens))
				round := 0
				for b.Loop() {
					round++
					freed = scaleRound(tree, round, tokens, pages, freed)
				}
			})
		}
	}
}

// BenchmarkEvictLeaves evicts the leaves of a wide tree one by one, 4 pages
// each, as a full pool of short requests does, until a tenth is gone. They were
// last used in an order that has nothing to do with where they lie in memory.
func BenchmarkEvictLeaves(b *testing.B) {
	for _, leaves := range []int{41_000, 1_000_000} {
		b.Run(fmt.Sprintf("leaves=%d", leaves), func(b *testing.B) {
			matched, freed := make([]messages.Page, 0, 16), make([]messages.PageRun, 0, 16)
			nodes := 0
			for b.Loop() {
				b.StopTimer()
				tree := NewTree(TreeOptions{PageSize: 1})
				fill(tree, leaves, 1, 4)
				for i := range leaves {
					seq := int(uint64(i) * 611_953 % uint64(leaves))
					node, _ := tree.Lock("", sequence(seq, 1, 4), 5, matched[:0])
					tree.Unlock(node)
				}
				runtime.GC()
				before := tree.Nodes()
				b.StartTimer()
				for range leaves / 10 {
					freed, _ = tree.Evict(4, freed[:0])
				}
				nodes += before - tree.Nodes()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(nodes), "ns/node")
		})
	}
}
