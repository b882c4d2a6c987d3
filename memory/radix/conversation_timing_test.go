package radix

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/messages"
)

const (
	blockTokens        = 512
	conversationTokens = 3_000_000 // the capacity of the cache
)

// appendTokens writes the tokens of a request's blocks: those of a block depend
// on its id only, and the first one tells blocks apart.
func appendTokens(into []int32, blocks []int32) []int32 {
	for _, block := range blocks {
		for i := range int32(blockTokens) {
			into = append(into, (block*blockTokens+i)&0x7fffffff)
		}
	}
	return into
}

// conversation is a cache and an allocator as one request after the other uses
// them: match and lock, evict what is missing, allocate, insert and unlock.
type conversation struct {
	tree    *Tree
	alloc   *pages.Allocator
	pages   []messages.Page    // reused
	freed   []messages.Page    // reused
	evicted []messages.PageRun // reused
	hits    int                // pages
	all     int
	busy    time.Duration // in request
}

func newConversation(opts TreeOptions) *conversation {
	return &conversation{tree: NewTree(opts), alloc: pages.NewAllocator(conversationTokens / opts.PageSize)}
}

// request passes one request's tokens, whole pages of them, through the cache.
func (c *conversation) request(tokens []int32) error {
	begin := time.Now()
	node, pages := c.tree.Lock("", tokens, len(tokens), c.pages[:0])
	owned, need := len(pages), len(tokens)/c.tree.PageSize()-len(pages)
	if missing := need - c.alloc.Free(); missing > 0 {
		evicted, err := c.tree.Evict(missing, c.evicted[:0])
		if err != nil {
			return err
		}
		c.alloc.ReleaseRuns(evicted)
		c.evicted = evicted
	}
	pages, _ = c.alloc.Alloc(need, pages)
	_, freed := c.tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: pages, Owned: owned, Node: node}, c.freed[:0])
	c.alloc.Release(freed)
	c.busy += time.Since(begin)
	c.pages, c.freed = pages, freed
	c.hits += owned
	c.all += owned + need
	return nil
}

// BenchmarkConversation replays Mooncake's conversation trace, token by token,
// and compares with copying 8 bytes for every token, 4 of them the token's id
// and 4 its slot, to where a cache of this capacity has them. Making the tokens
// is not in the figures.
func BenchmarkConversation(b *testing.B) {
	trace := readMooncake(b, "conversation_trace.jsonl")
	for _, pageSize := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("pagesize=%d", pageSize), func(b *testing.B) {
			var inCache, copying time.Duration
			var c *conversation
			var tokens []int32
			var from []byte
			to, at := make([]byte, 8*conversationTokens), 0
			total := 0
			for b.Loop() {
				c = newConversation(TreeOptions{PageSize: pageSize})
				for _, blocks := range trace {
					tokens = appendTokens(tokens[:0], blocks)
					if n := 8 * len(tokens); n > len(from) {
						from = make([]byte, n)
					}
					if at+8*len(tokens) > len(to) {
						at = 0
					}
					begin := time.Now()
					at += copy(to[at:], from[:8*len(tokens)])
					copying += time.Since(begin)
					if err := c.request(tokens); err != nil {
						b.Fatal(err)
					}
					total += len(tokens)
				}
				inCache += c.busy
			}
			requests := float64(b.N * len(trace))
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(inCache.Nanoseconds())/requests, "ns/request")
			b.ReportMetric(float64(inCache.Nanoseconds())/float64(total), "ns/token")
			b.ReportMetric(float64(copying.Nanoseconds())/float64(total), "copy-ns/token")
			b.ReportMetric(float64(inCache)/float64(copying), "times-copy")
			b.ReportMetric(float64(c.hits)/float64(c.all), "hit-ratio")
		})
	}
}
