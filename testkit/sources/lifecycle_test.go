package sources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
)

// letters prints the nodes of a tree whose tokens are letters, with their lock
// counts.
func (p *printer) letters(when string, t *radix.Tree) {
	var words []string
	var walk func(path string, all []radix.NodeView)
	walk = func(path string, all []radix.NodeView) {
		for _, n := range all {
			text := ""
			for _, token := range n.Tokens {
				text += string(rune(token))
			}
			words = append(words, fmt.Sprintf("%s%s=%d", path, text, n.Locks))
			walk(path+text+"-", n.Children)
		}
	}
	for _, n := range t.View(messages.CacheLimits{}).Namespaces {
		walk("", n.Children)
	}
	p.line("%s: %s", when, strings.Join(words, " "))
}

// spell makes tokens of letters.
func spell(text string) (tokens []int32) {
	for _, r := range text {
		tokens = append(tokens, r)
	}
	return tokens
}

// schedulerRequestABC is "the life of a request": ABC meets a cached AFG. The
// article appends DE to BC; here E, which is sampled last, has no KV and is
// never inserted.
func schedulerRequestABC(t *testing.T, p *printer) {
	m := newPool(t, 20)
	m.insert(messages.PrefixInsert{Tokens: spell("AFG"), Pages: m.take(3, nil)})
	p.letters("before", m.tree)

	node, table := m.tree.Lock("", spell("ABC"), 2, nil)
	p.letters("matched", m.tree)
	p.line("prefix %d, slots for B and C: %d", len(table), 3-len(table))
	owned := len(table)
	table = m.take(3-owned, table)
	kept := m.insert(messages.PrefixInsert{Tokens: spell("ABC"), Pages: table, Owned: owned, Node: node, Keep: true})
	p.letters("after prefill", m.tree)

	table = m.take(1, table)
	p.line("slots for D: 1, of %d in all", m.alloc.Total()-m.alloc.Free())
	p.letters("while decoding", m.tree)
	m.insert(messages.PrefixInsert{Tokens: spell("ABCD"), Pages: table, Owned: 3, Node: kept.Node})
	p.letters("at the end", m.tree)
	p.line("free %d, evictable %d, protected %d", m.alloc.Free(), m.tree.Evictable(), m.tree.Protected())

	// Two requests hold BCD: the one that goes on gets a child.
	_, _ = m.tree.Lock("", spell("ABCD"), 4, nil)
	node, table = m.tree.Lock("", spell("ABCD"), 4, nil)
	m.insert(messages.PrefixInsert{Tokens: spell("ABCDX"), Pages: m.take(1, table), Owned: 4, Node: node, Keep: true})
	p.letters("held by two", m.tree)
}

// poolsAtTheEnd is the end state of "memory pools in SGLang": a request of 10
// tokens, 4 of them cached, generates 4. Its leaf grows in place. Rows, leases and pages as the batch
// former uses them, 4 tokens to a page.
func poolsAtTheEnd(t *testing.T, p *printer) {
	const pageSize = 4
	rows, tree, alloc := former.NewRows(2), radix.NewTree(radix.TreeOptions{PageSize: pageSize}), pages.NewAllocator(10)
	state := func(when string, leased int) {
		used, full, locks := rows.Limit()-rows.Free(), 0, 0
		owners := map[int]int{} // of each page's first slot
		var walk func(all []radix.NodeView)
		walk = func(all []radix.NodeView) {
			for _, n := range all {
				locks += n.Locks
				for i := 0; i < len(n.Slots); i += pageSize {
					owners[n.Slots[i]]++
					full++
				}
				walk(n.Children)
			}
		}
		for _, n := range tree.View(messages.CacheLimits{Tokens: 100}).Namespaces {
			walk(n.Children)
		}
		for slot, n := range owners {
			if n != 1 {
				t.Errorf("%s: the page at slot %d is on %d nodes", when, slot, n)
			}
		}
		if sum := alloc.Free() + tree.Evictable() + tree.Protected() + leased; sum != alloc.Total() {
			t.Errorf("%s: %d pages of %d are accounted for", when, sum, alloc.Total())
		}
		p.line("%s: rows used %d, pages on nodes %d, locks %d, leased %d, free %d", when, used, full, locks, leased, alloc.Free())
	}
	tokens := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14} // 10 of the prompt, then what is sampled
	first, _ := alloc.Alloc(1, nil)
	tree.Insert(messages.PrefixInsert{Tokens: tokens[:4], Pages: first}, nil)
	state("before", 0)

	node, cached := tree.Lock("", tokens[:10], 9, nil)
	row, _ := rows.Take()
	lease := former.OpenLease(row, messages.PrefixLocked{Node: node, Pages: cached}, pageSize)
	grow := func(tokens int) {
		pages, ok := alloc.Alloc(lease.Missing(tokens, pageSize), nil)
		if !ok {
			t.Fatal("the pool is too small")
		}
		lease.Grow(pages)
	}
	grow(10)
	lease.Launch(1)
	state("prefill", len(lease.Private()))
	outcome, _ := tree.Insert(messages.PrefixInsert{Tokens: tokens[:8], Pages: slices.Clone(lease.Pages[:2]), Owned: lease.Owned, Node: lease.Node, Keep: true}, nil)
	lease.Inserted(outcome, 2)
	state("cached", len(lease.Private()))
	for n := 11; n <= 13; n++ { // the 14th token ends it and has no KV
		grow(n)
		lease.Launch(messages.StepID(n - 9))
	}
	state("decode", len(lease.Private()))

	lease.Close()
	whole := paging.Whole(13, pageSize)
	_, freed := tree.Insert(messages.PrefixInsert{Tokens: tokens[:whole*pageSize], Pages: slices.Clone(lease.Pages[:whole]), Owned: lease.Owned, Node: lease.Node}, nil)
	alloc.Release(append(freed, lease.Pages[whole:]...))
	rows.Give(lease.Row)
	state("end", 0)
}
