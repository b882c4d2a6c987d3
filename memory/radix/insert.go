package radix

import (
	"math"
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Insert gives a request's prefix to the tree. Its pages fall into these ranges:
//
//	[0, Owned)        on in.Node's path already; not compared again
//	[Owned, known)    the tree has these tokens: the request's copies are
//	                  appended to freed unless KeepCopies, and with Keep the
//	                  result has the pages that its row must use instead
//	[known, end)      new: the tree takes them over from the request
//
// A partial last page is not inserted.
//
// in.Node is unlocked, and with Keep the end of the prefix is locked instead. If the new
// pages continue a leaf that only this request has locked, the leaf grows and keeps its
// handle; otherwise they become a new leaf. in.Tokens and in.Pages are copied.
func (t *Tree) Insert(in messages.PrefixInsert, freed []messages.Page) (messages.PrefixInserted, []messages.Page) {
	out := messages.PrefixInserted{ID: in.ID}
	start := t.insertionStart(&in)
	if start == none {
		return out, freed
	}
	t.tick++
	cur, at := start, in.Owned
	for {
		child, k := t.next(cur, in.Tokens[at*t.pageSize:])
		if child == none {
			break
		}
		n := t.nodes.at(child)
		if page, twice := n.pages.shares(in.Pages[at : at+k]); twice {
			invariants.Fail("request %d inserts page %d, which the tree has already", in.ID, page)
		}
		if !in.KeepCopies {
			freed = append(freed, in.Pages[at:at+k]...)
		}
		if in.Keep {
			out.Pages = n.pages.appendFirst(k, out.Pages)
		}
		at += k
		if k < n.pages.len() {
			cur = t.split(child, k)
			break
		}
		cur = child
	}
	if len(out.Pages) > 0 {
		out.First = in.Owned
	}
	if at < len(in.Pages) {
		cur = t.extend(cur, &in, at)
	}
	t.touchPath(cur, start, &in)
	if in.Keep {
		out.Node = t.nodes.id(cur) | counted
	}
	return out, freed
}

// touchPath walks from the end of an inserted prefix to the root. It moves the request's
// lock from start to cur, or removes it, and records the use, except in new nodes.
func (t *Tree) touchPath(cur, start nodeIndex, in *messages.PrefixInsert) {
	held, i := false, cur // held: from start upwards the request has a lock
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(i) {
		held = held || i == start
		if t.leaves.has(i) {
			t.leaves.remove(i)
		}
		step := PathNode{Usage: &n.usage, Pages: n.pages.len()}
		if n.usage.Created != t.tick {
			step.Hit = !held || in.Node&counted == 0
			step.LastUse = n.usage.LastUse
			t.use(&n.usage, step.Hit, in.Priority)
		}
		if t.learner != nil {
			t.path = append(t.path, step)
		}
		switch {
		case held && !in.Keep:
			t.unlockNode(i, n)
		case !held && in.Keep:
			t.lockNode(i, n)
		default:
			t.work.nodeVisits++
		}
		i = n.parent
	}
	if t.learner != nil {
		t.learner.Used(t.tick, t.path, in.Node&counted == 0, !in.Keep)
		t.path = t.path[:0]
	}
	t.becomeLeaf(cur)
}

// UnlockUsed releases the lock of a request that ends and has nothing to insert.
// It counts as an insertion of what is cached already.
func (t *Tree) UnlockUsed(id messages.NodeID) {
	if id == messages.RootNode {
		return
	}
	i := t.locked(id)
	t.tick++
	t.touchPath(i, i, &messages.PrefixInsert{Node: id, Priority: math.MinInt32})
}

// insertionStart checks an insertion and returns the node at which its first
// Owned pages end; none if it has no pages.
func (t *Tree) insertionStart(in *messages.PrefixInsert) nodeIndex {
	switch {
	case len(in.Tokens) != len(in.Pages)*t.pageSize:
		invariants.Fail("request %d inserts %d tokens on %d pages of %d", in.ID, len(in.Tokens), len(in.Pages), t.pageSize)
	case in.KeepCopies && !in.Keep:
		invariants.Fail("request %d keeps copies of a prefix that it does not keep", in.ID)
	case in.Owned < 0 || in.Owned > len(in.Pages):
		invariants.Fail("request %d inserts %d pages, %d of them owned", in.ID, len(in.Pages), in.Owned)
	case in.Node == messages.RootNode:
		if in.Owned != 0 {
			invariants.Fail("request %d owns %d pages through no node", in.ID, in.Owned)
		}
		if len(in.Pages) == 0 {
			return none
		}
		return t.root(in.Namespace)
	}
	start := t.locked(in.Node)
	n := t.nodes.at(start)
	if depth := int(n.usage.Depth) + n.pages.len(); depth != in.Owned {
		invariants.Fail("request %d owns %d pages through a node at depth %d", in.ID, in.Owned, depth)
	}
	if t.top(start) != t.roots[in.Namespace] {
		invariants.Fail("request %d holds a node of another namespace", in.ID)
	}
	if invariants.Enabled {
		t.checkPath(start, in)
	}
	return start
}

// checkPath verifies that the request's owned pages are those of its node.
func (t *Tree) checkPath(i nodeIndex, in *messages.PrefixInsert) {
	end := in.Owned
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(n.parent) {
		from := end - n.pages.len()
		if !slices.Equal(n.pages.appendTo(nil), in.Pages[from:end]) || !slices.Equal(n.tokens, in.Tokens[from*t.pageSize:end*t.pageSize]) {
			invariants.Fail("request %d differs from its locked prefix in pages [%d, %d)", in.ID, from, end)
		}
		end = from
	}
}

// top returns the root above a node.
func (t *Tree) top(i nodeIndex) nodeIndex {
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(i) {
		i = n.parent
	}
	return i
}

// root returns the root of a namespace, and makes it if necessary.
func (t *Tree) root(namespace string) nodeIndex {
	i := t.roots[namespace]
	if i == none {
		i = t.nodes.take()
		t.roots[namespace], t.names[i] = i, namespace
	}
	return i
}
