package sources

import (
	"errors"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// notebookModel is the model of "Build Radix KV Cache Manager from Scratch".
var notebookModel = gpu.KVSpec{Layers: 1, Heads: 8, HeadDim: 256}

// sizePool plans a pool in some memory. The padding page, which the notebook does
// not have, comes on top.
func sizePool(t *testing.T, p *printer, bytes int64) int {
	perToken := notebookModel.BytesPerToken(gpu.F16)
	plan, err := pool.NewPlan(pool.Options{MemFraction: 1, PageSize: 1},
		pool.Facts{AvailableBytes: bytes + perToken, BytesPerToken: perToken, Context: 50})
	if err != nil {
		t.Fatal(err)
	}
	used := int64(plan.Pages) * perToken
	p.line("Allocating %d pages for KV cache, K + V = %.3fGB", plan.Pages, float64(used)/(1<<30))
	return plan.Pages
}

// Section 1, the size of a pool.
func notebookPool(t *testing.T, p *printer) {
	p.line("4 GB are available")
	sizePool(t, p, 4<<30)
}

// Section 1, allocating and freeing.
func notebookFiftySlots(t *testing.T, p *printer) {
	alloc := newPool(t, 50)
	p.slots("free slots: ", alloc.alloc.FreePages(nil))
	first := alloc.take(7, nil)
	p.slots("request 0: ", first)
	p.slots("request 1: ", alloc.take(7, nil))
	p.slots("free slots: ", alloc.alloc.FreePages(nil))
	alloc.alloc.Release(first)
	p.slots("free slots after request 0: ", alloc.alloc.FreePages(nil))
}

// Section 2.3: insertion, a split, locks, eviction.
func notebookTree(t *testing.T, p *printer) {
	build := func(p *printer) *radix.Tree {
		tree := newPool(t, 50).tree
		tree.Insert(messages.PrefixInsert{Tokens: []int32{1, 3, 6, 7, 9, 77}, Pages: from(0, 1, 2, 3, 4, 7)}, nil)
		p.tree(tree)
		tokens := []int32{1, 3, 6, 7, 87, 66}
		node, prefix := tree.Lock("", tokens, len(tokens), nil)
		tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: append(prefix, from(5, 6)...), Owned: len(prefix), Node: node}, nil)
		p.tree(tree)
		return tree
	}
	tree := build(p)
	node, _ := tree.Lock("", []int32{1, 3, 6, 7}, 4, nil)
	p.tree(tree)
	tree.Unlock(node)
	p.tree(tree)

	// The notebook evicts whole nodes, and prints after each. The tree evicts
	// exactly what is asked for: these nodes have two slots each.
	p.tree(tree)
	var freed []messages.PageRun
	for _, evicted := range []int{1, 3} {
		var err error
		if freed, err = tree.Evict(2, freed); err != nil {
			t.Fatal(err)
		}
		p.tree(tree)
		p.line("Node: %d is evicted", evicted)
	}
	p.slots("\nfree slots: ", pagesOf(freed))

	// All at once it is the same. 0 is a no-op, too much is refused.
	tree = build(&printer{})
	if none, err := tree.Evict(0, nil); err != nil || len(none) != 0 {
		t.Errorf("evict(0) gives %v, %v", none, err)
	}
	before := tree.String()
	none, err := tree.Evict(9, nil)
	if refused, is := errors.AsType[*radix.EvictionRefused](err); !is || refused.Wanted != 9 || refused.Evictable != 8 || len(none) != 0 || tree.String() != before {
		t.Errorf("evict(9) of 8 gives %v, %v", none, err)
	}
	if once, err := tree.Evict(4, nil); err != nil || !slices.Equal(pagesOf(once), pagesOf(freed)) {
		t.Errorf("evict(4) gives %v, %v", once, err)
	}
}

// Section 3.4: two requests through the cache manager.
func notebookManager(t *testing.T, p *printer) {
	m := newPool(t, sizePool(t, p, 2000*1024))
	p.line("Init cache manager. Total cache available_size: %d slots", m.available())

	tokens := []int32{1, 3, 6, 7, 9, 77}
	table := m.take(len(tokens), nil)
	p.line("After request0 allocated. Total cache available_size: %d slots", m.available())
	m.insert(messages.PrefixInsert{Tokens: tokens, Pages: table})
	p.line("After request0 free. Total cache available_size: %d slots", m.available())
	p.tree(m.tree)

	tokens = []int32{1, 3, 6, 7, 87, 66}
	node, table := m.tree.Lock("", tokens, len(tokens)-1, nil) // one token must be computed
	cached := len(table)
	table = m.take(len(tokens)-cached, table)
	p.tree(m.tree)
	m.insert(messages.PrefixInsert{Tokens: tokens, Pages: table, Owned: cached, Node: node})
	p.tree(m.tree)
	if m.available() != 250 || m.tree.Protected() != 0 {
		t.Errorf("%d slots are available, %d protected", m.available(), m.tree.Protected())
	}
}
