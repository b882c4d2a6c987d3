package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Lock finds the longest cached prefix of tokens[:limit], in whole pages,
// locks it and returns its handle. Its pages are appended to into, which remains
// the caller's. If nothing matches it returns RootNode, which needs no unlock.
func (t *Tree) Lock(namespace string, tokens []int32, limit int, into []messages.Page) (messages.NodeID, []messages.Page) {
	if limit < 0 || limit > len(tokens) {
		invariants.Fail("match limit %d of %d tokens", limit, len(tokens))
	}
	root := t.roots[namespace]
	cur, part, k, _ := t.match(root, tokens[:limit])
	if part != none {
		cur = t.split(part, k)
	}
	if cur == root {
		return messages.RootNode, into
	}
	n := t.nodes.at(cur)
	depth, at := int(n.usage.Depth)+n.pages.len(), len(into)
	into = slices.Grow(into, depth)[:at+depth]
	for i := cur; n.parent != none; n = t.nodes.at(i) {
		t.lockNode(i, n)
		n.pages.appendTo(into[:at+int(n.usage.Depth)])
		i = n.parent
	}
	return t.nodes.id(cur), into
}

// Unlock releases a lock whose holder did not use what it protects, such as a candidate
// that does not fit yet. The handle becomes invalid; RootNode is ignored. Unless the
// holder was counted, the path becomes as recent as by an insertion, without a hit.
func (t *Tree) Unlock(id messages.NodeID) {
	if id == messages.RootNode {
		return
	}
	last := t.locked(id)
	if id&counted == 0 {
		t.tick++
	}
	i := last
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(i) {
		if id&counted == 0 {
			n.usage.LastUse = t.tick
		}
		t.unlockNode(i, n)
		i = n.parent
	}
	t.becomeLeaf(last)
}

// locked returns the node of a handle, which must be locked.
func (t *Tree) locked(id messages.NodeID) nodeIndex {
	i := t.nodes.lookup(id)
	if i == none || t.nodes.at(i).locks == 0 {
		invariants.Fail("node %#x is not locked", uint64(id&^counted))
	}
	return i
}

func (t *Tree) lockNode(i nodeIndex, n *node) {
	t.work.nodeVisits++
	if t.leaves.has(i) {
		t.leaves.remove(i)
	}
	if n.locks == 0 {
		t.evictable -= n.pages.len()
		t.protected += n.pages.len()
	}
	n.locks++
}

func (t *Tree) unlockNode(i nodeIndex, n *node) {
	t.work.nodeVisits++
	n.locks--
	if n.locks == 0 {
		t.evictable += n.pages.len()
		t.protected -= n.pages.len()
		if !n.fits() {
			t.fit(i)
		}
	}
}

// becomeLeaf adds a node to the leaves that can be evicted, if it is one.
func (t *Tree) becomeLeaf(i nodeIndex) {
	if n := t.nodes.at(i); n.parent != none && n.locks == 0 && n.children == 0 {
		t.leaves.push(i)
	}
}
