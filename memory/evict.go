package memory

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Evict removes unlocked leaves in the policy's order until at least n pages
// are free or nothing is evictable, and appends the pages to freed. A node
// goes as a whole, and its parent is the next candidate when it was the last
// child. All namespaces compete.
func (t *Tree) Evict(n int, freed []messages.Page) []messages.Page {
	for want := len(freed) + n; len(freed) < want && len(t.leaves) > 0; {
		freed = t.removeLeaf(t.leaves[0], freed)
	}
	return freed
}

// EvictAll removes everything that is not locked.
func (t *Tree) EvictAll(freed []messages.Page) []messages.Page {
	return t.Evict(t.evictable, freed)
}

func (t *Tree) removeLeaf(i slot, freed []messages.Page) []messages.Page {
	n := t.nodes.at(i)
	if n.children != 0 || n.locks != 0 {
		invariants.Fail("evicting a node with %d children and %d locks", n.children, n.locks)
	}
	freed = append(freed, n.pages...)
	t.evictable -= len(n.pages)
	t.leaves.remove(t, i)
	t.unlink(i)
	parent := n.parent
	t.nodes.give(i)
	t.count--

	p := t.nodes.at(parent)
	p.children--
	switch {
	case p.children > 0:
	case p.parent == none:
		// Namespaces come from users: an empty one leaves nothing behind.
		delete(t.roots, t.names[parent])
		delete(t.names, parent)
		t.nodes.give(parent)
	case p.locks == 0:
		t.leaves.push(t, parent)
	}
	return freed
}

// leafHeap is a binary min-heap of unlocked leaves in the policy's order. Each
// node knows its place (heapAt), so any of them can be taken out.
type leafHeap []slot

func (h leafHeap) before(t *Tree, a, b int) bool {
	return t.policy.Before(&t.nodes.at(h[a]).usage, &t.nodes.at(h[b]).usage)
}

func (h leafHeap) swap(t *Tree, a, b int) {
	h[a], h[b] = h[b], h[a]
	t.nodes.at(h[a]).heapAt, t.nodes.at(h[b]).heapAt = int32(a+1), int32(b+1)
}

func (h *leafHeap) push(t *Tree, i slot) {
	*h = append(*h, i)
	t.nodes.at(i).heapAt = int32(len(*h))
	h.up(t, len(*h)-1)
}

func (h *leafHeap) remove(t *Tree, i slot) {
	at, last := int(t.nodes.at(i).heapAt)-1, len(*h)-1
	h.swap(t, at, last)
	*h = (*h)[:last]
	t.nodes.at(i).heapAt = 0
	if at < last {
		h.down(t, at)
		h.up(t, at)
	}
}

func (h leafHeap) up(t *Tree, at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if !h.before(t, at, parent) {
			return
		}
		h.swap(t, at, parent)
		at = parent
	}
}

func (h leafHeap) down(t *Tree, at int) {
	for {
		child := 2*at + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h.before(t, child+1, child) {
			child++
		}
		if !h.before(t, child, at) {
			return
		}
		h.swap(t, at, child)
		at = child
	}
}
