package radix

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// timedTree caches about pages pages: sequences of 64 shared and 64 own pages.
func timedTree(pageSize, pages int) (*Tree, int) {
	tree := NewTree(TreeOptions{PageSize: pageSize})
	sequences := pages / 64
	fill(tree, sequences, 64*pageSize, 64*pageSize)
	return tree, sequences
}

// sequence is the tokens of fill's sequence number seq.
func sequence(seq, shared, suffix int) []int32 {
	tokens := make([]int32, shared+suffix)
	for i := range tokens {
		tokens[i] = int32(i)
		if i >= shared {
			tokens[i] = int32(seq*suffix + i + 1)
		}
	}
	return tokens
}

func sizes(b *testing.B, f func(b *testing.B, pageSize, pages int)) {
	for _, pageSize := range []int{1, 16} {
		for _, pages := range []int{10_000, 1_000_000} {
			b.Run(fmt.Sprintf("pagesize=%d/pages=%d", pageSize, pages), func(b *testing.B) { f(b, pageSize, pages) })
		}
	}
}

// BenchmarkLock matches, locks and unlocks 128 pages.
func BenchmarkLock(b *testing.B) {
	sizes(b, func(b *testing.B, pageSize, pages int) {
		tree, sequences := timedTree(pageSize, pages)
		prompts := make([][]int32, 64)
		for i := range prompts {
			prompts[i] = sequence(i*sequences/64, 64*pageSize, 64*pageSize)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			tokens := prompts[i%64]
			node, found := tree.Lock("", tokens, len(tokens), nil)
			if len(found) != 128 {
				b.Fatalf("matched %d pages", len(found))
			}
			tree.Unlock(node)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(128*pageSize), "ns/token")
	})
}

// BenchmarkInsertEvict adds 16 pages to a shared prefix of 64 and evicts as
// many, in a full cache.
func BenchmarkInsertEvict(b *testing.B) {
	sizes(b, func(b *testing.B, pageSize, pages int) {
		tree, _ := timedTree(pageSize, pages)
		tokens := sequence(0, 64*pageSize, 16*pageSize)
		node, shared := tree.Lock("", tokens[:64*pageSize], 64*pageSize, nil)
		own := append(shared, make([]messages.Page, 16)...)
		freed := make([]messages.PageRun, 0, 1024)
		next := messages.Page(1 << 24)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			tokens[64*pageSize] = int32(-1 - i)
			for j := 64; j < 80; j++ {
				next++
				own[j] = next
			}
			out, _ := tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: own, Owned: 64, Node: node, Keep: true}, nil)
			tree.Unlock(out.Node)
			node, _ = tree.Lock("", tokens[:64*pageSize], 64*pageSize, nil)
			freed, _ = tree.Evict(16, freed[:0])
		}
	})
}

// BenchmarkEvict frees one page's worth, a whole node, per operation.
func BenchmarkEvict(b *testing.B) {
	sizes(b, func(b *testing.B, pageSize, pages int) {
		tree, _ := timedTree(pageSize, pages)
		freed := make([]messages.PageRun, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			if tree.Evictable() < pages/2 {
				b.StopTimer()
				tree, _ = timedTree(pageSize, pages)
				b.StartTimer()
			}
			freed, _ = tree.Evict(1, freed[:0])
		}
	})
}

// BenchmarkDecodePlan passes one decode step's plan around both cores: every
// 16th of the running requests reserves a page, none is admitted.
func BenchmarkDecodePlan(b *testing.B) {
	for _, running := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("running=%d", running), func(b *testing.B) {
			r := newRing(Options{PageSize: 16}, 1_000_000)
			var plan messages.PlanID
			var frees []messages.Page
			b.ReportAllocs()
			for b.Loop() {
				plan++
				m := &messages.CommitPlan{Plan: plan, Frees: frees}
				for i := 0; i < running; i += 16 {
					m.Reserves = append(m.Reserves, messages.PageReserve{ID: messages.RequestID(i), Pages: 1})
				}
				frees = frees[:0:0]
				for _, g := range r.send(b, m).(*messages.PagesReserved).Granted {
					frees = append(frees, g.Pages...)
				}
			}
		})
	}
}
