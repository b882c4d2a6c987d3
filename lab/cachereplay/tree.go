package cachereplay

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
)

const (
	tokensPerBlock = 2 // the page size: an id has 64 bits, a token 32
	// maxPages bounds the pool; a page takes memory, one bit, only when it is used.
	maxPages = 1 << 30
	headroom = 1 << 20 // blocks that a request can add before the eviction
)

// byTime are the policies that need no history of a block.
var byTime = []string{"fifo", "filo", "lru", "mru", "priority"}

// treeCache drives the real tree and allocator. Between requests nothing is locked.
type treeCache struct {
	tree    *radix.Tree
	alloc   *pages.Allocator
	tokens  []int32
	pages   []messages.Page
	freed   []messages.Page    // duplicates of an insertion
	removed []messages.PageRun // by eviction
	divided bool               // by conversation: each has a namespace of its own
}

func newTreeCache(opts Options) (*treeCache, error) {
	newPolicy, err := policies.ByName(opts.Eviction)
	if err != nil {
		return nil, err
	}
	history := opts.History
	switch {
	case opts.Capacity == 0 || slices.Contains(byTime, opts.Eviction):
		history = 0
	case history == 0:
		history = DefaultHistory
	}
	total := maxPages
	if opts.Capacity > 0 {
		total = min(maxPages, opts.Capacity+headroom)
	}
	return &treeCache{
		tree:  radix.NewTree(radix.TreeOptions{PageSize: tokensPerBlock, Policy: newPolicy(), History: history}),
		alloc: pages.NewAllocator(total),
	}, nil
}

func (c *treeCache) access(r *trace.Request, capacity int) (hits, evicted int, err error) {
	namespace := ""
	if c.divided {
		namespace = r.Conversation
	}
	c.tokens = c.tokens[:0]
	for _, id := range r.Blocks {
		c.tokens = append(c.tokens, int32(id), int32(id>>32))
	}
	node, pages := c.tree.Lock(namespace, c.tokens, len(c.tokens), c.pages[:0])
	hits = len(pages)
	pages, ok := c.alloc.Alloc(len(r.Blocks)-hits, pages)
	if !ok {
		return 0, 0, fmt.Errorf("the simulated cache is full: the request adds %d blocks to %d cached ones; "+
			"the limit is %d for an unlimited cache, otherwise its capacity plus %d; use a shorter trace", len(r.Blocks)-hits, c.tree.Evictable(), maxPages, headroom)
	}
	c.pages = pages
	_, c.freed = c.tree.Insert(messages.PrefixInsert{
		ID: messages.RequestID(r.Line), Namespace: namespace, Tokens: c.tokens, Pages: pages, Owned: hits, Node: node,
		Priority: r.Priority,
	}, c.freed[:0])
	c.removed = c.removed[:0]
	if n := c.tree.Evictable() - capacity; capacity > 0 && n > 0 {
		if c.removed, err = c.tree.Evict(n, c.removed); err != nil {
			return 0, 0, err
		}
		evicted = n
	}
	c.alloc.Release(c.freed)
	c.alloc.ReleaseRuns(c.removed)
	return hits, evicted, nil
}
