package memory

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Insert gives a request's prefix to the tree. Its pages fall in four ranges:
//
//	[0, Owned)        on in.Node's path already; not looked at again
//	[Owned, known)    the tree has the tokens: the request's copies are
//	                  appended to freed unless KeepCopies, and with Keep the
//	                  result tells the pages that its row must use instead
//	[known, end)      new: they change owner, from the request to the tree
//	the partial page  never comes here
//
// in.Node is unlocked, and with Keep the end of the prefix is locked instead.
// When the new pages continue a leaf that is locked by this request alone, the
// leaf grows and keeps its handle; otherwise they become a new leaf. in.Tokens
// and in.Pages are copied.
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
		for j, page := range in.Pages[at : at+k] {
			if page == n.pages[j] {
				invariants.Fail("request %d inserts page %d, which the tree has already", in.ID, page)
			}
		}
		if !in.KeepCopies {
			freed = append(freed, in.Pages[at:at+k]...)
		}
		if in.Keep {
			out.Pages = append(out.Pages, n.pages[:k]...)
		}
		at += k
		if k < len(n.pages) {
			cur = t.split(child, k)
			break
		}
		cur = child
	}
	if len(out.Pages) > 0 {
		out.First = in.Owned
	}
	if at < len(in.Pages) {
		cur = t.extend(cur, in.Node, in.Tokens[at*t.pageSize:], in.Pages[at:])
	}
	// Lock first, so that nothing of the path is unlocked in between.
	t.lockPath(cur)
	t.Unlock(in.Node)
	if in.Keep {
		out.Node = t.nodes.id(cur)
	} else {
		t.unlockPath(cur)
	}
	return out, freed
}

// insertionStart checks an insertion and returns the node that its first Owned
// pages end at; none when it holds no page at all.
func (t *Tree) insertionStart(in *messages.PrefixInsert) slot {
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
	depth, top := t.depth(start)
	if depth != in.Owned {
		invariants.Fail("request %d owns %d pages through a node at depth %d", in.ID, in.Owned, depth)
	}
	if top != t.roots[in.Namespace] {
		invariants.Fail("request %d holds a node of another namespace", in.ID)
	}
	if invariants.Enabled {
		t.checkPath(start, in)
	}
	return start
}

// checkPath verifies that the request's owned pages are those of its node.
func (t *Tree) checkPath(i slot, in *messages.PrefixInsert) {
	end := in.Owned
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(n.parent) {
		from := end - len(n.pages)
		if !slices.Equal(n.pages, in.Pages[from:end]) || !slices.Equal(n.tokens, in.Tokens[from*t.pageSize:end*t.pageSize]) {
			invariants.Fail("request %d differs from its locked prefix in pages [%d, %d)", in.ID, from, end)
		}
		end = from
	}
}

// depth returns the pages from the root to the end of a node, and the root.
func (t *Tree) depth(i slot) (pages int, root slot) {
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(i) {
		pages += len(n.pages)
		i = n.parent
	}
	return pages, i
}

// root returns a namespace's root, made if it is not there.
func (t *Tree) root(namespace string) slot {
	i := t.roots[namespace]
	if i == none {
		i = t.nodes.take()
		t.roots[namespace], t.names[i] = i, namespace
	}
	return i
}

// extend adds new pages below cur, which no child of cur continues, and
// returns the node that ends with them. own is the inserting request's handle.
func (t *Tree) extend(cur slot, own messages.NodeID, tokens []int32, pages []messages.Page) slot {
	n := t.nodes.at(cur)
	if own != messages.RootNode && t.nodes.id(cur) == own && n.children == 0 && n.locks == 1 {
		// Room to grow is wasted only while the request holds the leaf.
		n.grow(tokens, pages)
		t.protected += len(pages)
		return cur
	}
	leaf := t.nodes.take()
	l := t.nodes.at(leaf)
	l.tokens, l.pages, l.parent = slices.Clone(tokens), slices.Clone(pages), cur
	t.link(leaf)
	t.count++
	t.evictable += len(pages)
	n.children++
	// The leaf counts as evictable and is not in the heap, cur may be in the
	// heap and is no leaf any more: Insert locks both next.
	return leaf
}
