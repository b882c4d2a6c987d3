package radix

import (
	"fmt"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// EvictionRefused says that more pages were to be evicted than are unlocked.
type EvictionRefused struct {
	Wanted, Evictable int // pages
}

func (e *EvictionRefused) Error() string {
	return fmt.Sprintf("cannot evict %d pages: only %d are evictable", e.Wanted, e.Evictable)
}

// Evict removes exactly n pages from unlocked leaves of all namespaces, in the policy's
// order, and appends them to freed, whose last run may grow. Each leaf's pages come in
// the order of its tokens. If only a part of the last leaf must go, it is shortened from
// its end and keeps its place in the order. A parent becomes a leaf when its last child
// is evicted. More than is evictable is refused with an
// *EvictionRefused and changes nothing.
func (t *Tree) Evict(n int, freed []messages.PageRun) ([]messages.PageRun, error) {
	if n < 0 {
		invariants.Fail("evicting %d pages", n)
	}
	if n > t.evictable {
		return freed, &EvictionRefused{Wanted: n, Evictable: t.evictable}
	}
	for n > 0 {
		i := t.leaves.next(t.tick)
		k := t.nodes.at(i).pages.len()
		if k > n {
			return t.shorten(i, n, freed), nil
		}
		freed = t.removeLeaf(i, freed)
		n -= k
	}
	return freed, nil
}

// EvictAll removes everything that is not locked and appends it to freed, as Evict does.
func (t *Tree) EvictAll(freed []messages.PageRun) []messages.PageRun {
	events := t.events
	if t.protected == 0 && t.evictable > 0 {
		events.cleared() // instead of an event for each page
		t.events = nil
	}
	for t.evictable > 0 {
		freed = t.removeLeaf(t.leaves.next(t.tick), freed)
	}
	t.events = events
	return freed
}

// shorten takes the last k pages, not all, off an unlocked leaf.
func (t *Tree) shorten(i nodeIndex, k int, freed []messages.PageRun) []messages.PageRun {
	n := t.nodes.at(i)
	keep := n.pages.len() - k
	t.evicted(i, keep)
	t.evictable -= k
	n.tokens = n.tokens[:keep*t.pageSize]
	freed = n.pages.moveLast(k, freed)
	if t.hashes != nil {
		t.hashes.nodes[i] = t.hashes.nodes[i][:keep]
	}
	t.unused += k * t.pageSize
	// As many tokens were evicted as are moved.
	if n.slack() || n.unused() > len(n.tokens) && t.unused*slackShare > (t.evictable+t.protected)*t.pageSize {
		t.fit(i)
	}
	return freed
}

func (t *Tree) removeLeaf(i nodeIndex, freed []messages.PageRun) []messages.PageRun {
	n := t.nodes.at(i)
	if n.children != 0 || n.locks != 0 {
		invariants.Fail("evicting a node with %d children and %d locks", n.children, n.locks)
	}
	freed = appendRuns(freed, n.pages.code)
	t.evicted(i, 0)
	t.evictable -= n.pages.len()
	t.leaves.remove(i)
	t.unused -= n.unused()
	t.unlink(i)
	parent := n.parent
	t.nodes.give(i)
	if t.hashes != nil {
		t.hashes.nodes[i] = nil
	}
	t.count--

	p := t.nodes.at(parent)
	p.children--
	switch {
	case p.children > 0:
	case p.parent == none:
		// Users choose namespaces: an empty one must not take memory.
		delete(t.roots, t.names[parent])
		delete(t.names, parent)
		t.nodes.give(parent)
	case p.locks == 0:
		t.leaves.push(parent)
	}
	return freed
}

// evicted records in events and history that a node loses its pages from index keep on.
func (t *Tree) evicted(i nodeIndex, keep int) {
	n := t.nodes.at(i)
	if t.hashes == nil {
		return
	}
	hashes := t.hashes.nodes[i][keep:]
	t.events.removed(hashes)
	if t.history != nil {
		// From the end: of one node the last page is forgotten first.
		for at := len(hashes) - 1; at >= 0; at-- {
			t.history.remember(hashes[at], &n.usage)
		}
	}
}
