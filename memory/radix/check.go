package radix

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// Check walks the tree and reports the first broken invariant of Tree by its number.
func (t *Tree) Check() error {
	c := checker{
		Tree: t, below: map[nodeIndex]int{}, locked: map[nodeIndex]int{},
		owner: map[messages.Page]nodeIndex{},
	}
	for i := nodeIndex(1); i < t.nodes.top; i++ {
		n := t.nodes.at(i)
		switch {
		case n.gen&1 == 0: // not in use
			continue
		case n.parent == none:
			if name, ok := t.names[i]; !ok || t.roots[name] != i || n.children == 0 || n.pages.len() > 0 {
				return fmt.Errorf("7: root %d of namespace %q has %d children", i, name, n.children)
			}
			continue
		}
		for _, check := range []func(nodeIndex, *node) error{c.contents, c.relations, c.leaf, c.memory} {
			if err := check(i, n); err != nil {
				return err
			}
		}
	}
	if err := c.family(); err != nil {
		return err
	}
	return c.totals()
}

// checker counts what it finds on the way.
type checker struct {
	*Tree
	below, locked map[nodeIndex]int           // children and their locks, by parent
	owner         map[messages.Page]nodeIndex // of each page

	found, free, held, leafs int // nodes; pages of unlocked and of locked ones; leaves
	behind                   int // tokens of memory behind the nodes
}

// contents checks and counts what a node holds.
func (c *checker) contents(i nodeIndex, n *node) error {
	c.found++
	pages := n.pages.appendTo(nil)
	if len(pages) == 0 || len(pages) != n.pages.len() || len(n.tokens) != len(pages)*c.pageSize {
		return fmt.Errorf("1: node %d has %d tokens on %d pages of %d", i, len(n.tokens), len(pages), c.pageSize)
	}
	for _, page := range pages {
		if other, ok := c.owner[page]; ok {
			return fmt.Errorf("1: page %d is on nodes %d and %d", page, other, i)
		}
		c.owner[page] = i
	}
	if n.locks == 0 {
		c.free += len(pages)
	} else {
		c.held += len(pages)
	}
	return nil
}

// relations checks a node against its parent.
func (c *checker) relations(i nodeIndex, n *node) error {
	c.below[n.parent]++
	c.locked[n.parent] += int(n.locks)
	if found := c.find(n.parent, n.tokens[:c.pageSize]); found != i {
		return fmt.Errorf("2: the map finds node %d instead of %d", found, i)
	}
	p := c.nodes.at(n.parent)
	if p.parent != none && n.usage.LastUse > p.usage.LastUse {
		return fmt.Errorf("6: node %d was used at %d, its parent at %d", i, n.usage.LastUse, p.usage.LastUse)
	}
	if int(n.usage.Depth) != int(p.usage.Depth)+p.pages.len() {
		return fmt.Errorf("9: node %d at depth %d, below %d pages from %d on", i, n.usage.Depth, p.pages.len(), p.usage.Depth)
	}
	if c.hashes == nil {
		return nil
	}
	hash := RootHash(c.names[n.parent])
	if p.parent != none {
		hash = c.hashes.last(n.parent)
	}
	if !slices.Equal(c.hashes.nodes[i], c.hashes.chain(hash, n.tokens)) {
		return fmt.Errorf("10: node %d has other hashes than its tokens", i)
	}
	return nil
}

// leaf checks that exactly the unlocked nodes without children can be evicted.
func (c *checker) leaf(i nodeIndex, n *node) error {
	is := n.locks == 0 && n.children == 0
	if is != c.leaves.has(i) {
		return fmt.Errorf("5: node %d, evictable leaf: %t, in a heap: %t", i, is, !is)
	}
	if !is {
		return nil
	}
	c.leafs++
	return c.leaves.check(i)
}

// memory checks what a node's arrays waste.
func (c *checker) memory(i nodeIndex, n *node) error {
	pages, behind := n.pages.len(), n.unused()
	c.behind += behind
	if n.slack() || n.locks == 0 && n.pages.spare()*c.pageSize > behind {
		return fmt.Errorf("8: node %d of %d pages has %d unused in front, %d tokens behind", i, pages, n.pages.cut, behind)
	}
	if len(n.pages.code) > pages {
		return fmt.Errorf("8: node %d has its %d pages in %d elements", i, pages, len(n.pages.code))
	}
	return nil
}

// family checks the counts of children and locks, which need all nodes.
func (c *checker) family() error {
	for i := nodeIndex(1); i < c.nodes.top; i++ {
		n := c.nodes.at(i)
		if n.gen&1 == 1 && int(n.children) != c.below[i] {
			return fmt.Errorf("2: node %d counts %d children and has %d", i, n.children, c.below[i])
		}
		if n.gen&1 == 1 && n.parent != none && int(n.locks) < c.locked[i] {
			return fmt.Errorf("3: node %d has %d locks, its children %d", i, n.locks, c.locked[i])
		}
	}
	return nil
}

// totals compares the tree's counters with what was found.
func (c *checker) totals() error {
	linked := 0
	for _, i := range c.children.first {
		for ; i != none; i = c.nodes.at(i).chain {
			linked++
		}
	}
	switch {
	case c.free != c.evictable || c.held != c.protected:
		return fmt.Errorf("4: counted %d evictable and %d protected pages, found %d and %d", c.evictable, c.protected, c.free, c.held)
	case c.behind != c.unused:
		return fmt.Errorf("8: counted %d unused tokens, found %d", c.unused, c.behind)
	case c.leafs != c.leaves.len():
		return fmt.Errorf("5: %d leaves in the heaps, %d in the tree", c.leaves.len(), c.leafs)
	case c.found != c.count || c.found != linked:
		return fmt.Errorf("2: counted %d nodes, %d among the children, found %d", c.count, linked, c.found)
	case len(c.roots) != len(c.names):
		return fmt.Errorf("7: %d roots with %d names", len(c.roots), len(c.names))
	}
	return nil
}

// check reports whether a leaf is where its usage says, and in order.
func (l *leaves) check(i nodeIndex) error {
	p, o, e := l.nodes.at(i).place, &l.orders[l.class(&l.nodes.at(i).usage)], l.entry(i)
	if p.heap == inList {
		switch {
		case p.prev == none && o.first != i || p.prev != none && l.nodes.at(p.prev).place.next != i,
			p.next == none && o.last != i || p.next != none && l.nodes.at(p.next).place.prev != i:
			return fmt.Errorf("5: node %d is not in the list of its class", i)
		case p.next != none:
			if next := l.entry(p.next); next.before(&e) {
				return fmt.Errorf("5: node %d is out of order in the list", i)
			}
		}
		return nil
	}
	at, h := int(p.heap)-1, o.heap
	if at >= len(h) || h[at] != e {
		return fmt.Errorf("5: node %d is not at its place %d in the heap of its class", i, at)
	}
	if at > 0 && h[at].before(&h[(at-1)/heapWidth]) {
		return fmt.Errorf("5: the heap is out of order at %d", at)
	}
	return nil
}
