package radix

import (
	"fmt"
	"slices"
)

// Check walks the whole tree and reports the first invariant of the
// type's list that does not hold, by its number.
func (t *Tree) Check() error {
	children, locks := map[nodeIndex]int{}, map[nodeIndex]int{}
	pages := map[int32]nodeIndex{}
	nodes, evictable, protected, leaves, unused := 0, 0, 0, 0, 0
	for i := nodeIndex(1); i < t.nodes.top; i++ {
		n := t.nodes.at(i)
		if n.gen&1 == 0 {
			continue
		}
		if n.parent == none {
			if name, ok := t.names[i]; !ok || t.roots[name] != i || n.children == 0 || n.pages.len() > 0 {
				return fmt.Errorf("7: root %d of namespace %q has %d children", i, name, n.children)
			}
			continue
		}
		nodes++
		children[n.parent]++
		locks[n.parent] += int(n.locks)
		list := n.pages.appendTo(nil)
		if len(list) == 0 || len(list) != n.pages.len() || len(n.tokens) != len(list)*t.pageSize {
			return fmt.Errorf("1: node %d has %d tokens on %d pages of %d", i, len(n.tokens), len(list), t.pageSize)
		}
		for _, page := range list {
			if other, ok := pages[int32(page)]; ok {
				return fmt.Errorf("1: page %d is on nodes %d and %d", page, other, i)
			}
			pages[int32(page)] = i
		}
		if found := t.find(n.parent, n.tokens[:t.pageSize]); found != i {
			return fmt.Errorf("2: the map finds node %d instead of %d", found, i)
		}
		if n.locks == 0 {
			evictable += len(list)
		} else {
			protected += len(list)
		}
		if leaf := n.locks == 0 && n.children == 0; leaf != t.leaves.has(i) {
			return fmt.Errorf("5: node %d, evictable leaf: %t, in a heap: %t", i, leaf, !leaf)
		} else if leaf {
			leaves++
			if err := t.leaves.check(i); err != nil {
				return err
			}
		}
		if p := t.nodes.at(n.parent); p.parent != none && n.usage.LastUse > p.usage.LastUse {
			return fmt.Errorf("6: node %d was used at %d, its parent at %d", i, n.usage.LastUse, p.usage.LastUse)
		}
		room := n.room(t.pageSize)
		if n.slack() || n.locks == 0 && n.pages.spare()*t.pageSize > cap(n.tokens)-len(n.tokens) {
			return fmt.Errorf("8: node %d of %d pages has %d unused in front, %d behind", i, len(list), n.pages.cut, room)
		}
		if len(n.pages.code) > len(list) {
			return fmt.Errorf("8: node %d has its %d pages in %d elements", i, len(list), len(n.pages.code))
		}
		unused += room
		if p := t.nodes.at(n.parent); int(n.usage.Depth) != int(p.usage.Depth)+p.pages.len() {
			return fmt.Errorf("9: node %d at depth %d, below %d pages from %d on", i, n.usage.Depth, p.pages.len(), p.usage.Depth)
		}
		if err := t.checkHashes(i); err != nil {
			return err
		}
	}
	for i := nodeIndex(1); i < t.nodes.top; i++ {
		n := t.nodes.at(i)
		if n.gen&1 == 1 && int(n.children) != children[i] {
			return fmt.Errorf("2: node %d counts %d children and has %d", i, n.children, children[i])
		}
		if n.gen&1 == 1 && n.parent != none && int(n.locks) < locks[i] {
			return fmt.Errorf("3: node %d has %d locks, its children %d", i, n.locks, locks[i])
		}
	}
	linked := 0
	for _, i := range t.children.first {
		for ; i != none; i = t.nodes.at(i).chain {
			linked++
		}
	}
	switch {
	case evictable != t.evictable || protected != t.protected:
		return fmt.Errorf("4: counted %d evictable and %d protected pages, found %d and %d", t.evictable, t.protected, evictable, protected)
	case leaves != t.leaves.len():
		return fmt.Errorf("5: %d leaves in the heaps, %d in the tree", t.leaves.len(), leaves)
	case unused != t.unused:
		return fmt.Errorf("8: counted %d unused pages, found %d", t.unused, unused)
	case nodes != t.count || nodes != linked:
		return fmt.Errorf("2: counted %d nodes, %d among the children, found %d", t.count, linked, nodes)
	case len(t.roots) != len(t.names):
		return fmt.Errorf("7: %d roots with %d names", len(t.roots), len(t.names))
	}
	return nil
}

// check reports whether a leaf stands where its usage says, and in order.
func (l *leaves) check(i nodeIndex) error {
	p, o, e := l.nodes.at(i).place, &l.orders[l.class(&l.nodes.at(i).usage)], l.entry(i)
	if p.heap == inList {
		switch {
		case p.prev == none && o.first != i || p.prev != none && l.nodes.at(p.prev).place.next != i:
			return fmt.Errorf("5: node %d is not in the list of its class", i)
		case p.next == none && o.last != i || p.next != none && l.nodes.at(p.next).place.prev != i:
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

// checkHashes reports whether a node's hashes are those of its tokens.
func (t *Tree) checkHashes(i nodeIndex) error {
	if t.hashes == nil {
		return nil
	}
	n, top := t.nodes.at(i), t.top(i)
	parent := RootHash(t.names[top])
	if n.parent != top {
		parent = t.hashes.last(n.parent)
	}
	if !slices.Equal(t.hashes.nodes[i], t.hashes.chain(parent, n.tokens)) {
		return fmt.Errorf("10: node %d has other hashes than its tokens", i)
	}
	return nil
}
