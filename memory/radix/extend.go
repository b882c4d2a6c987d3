package radix

import (
	"math"

	"github.com/troupe-engine/troupe/messages"
)

// extend adds an insertion's pages from index at on below cur, which has no child
// that continues with them. It returns the node that ends with them. cur itself
// grows if it is a leaf that only this request has locked and the policy treats
// its pages and the new ones alike. Otherwise the pages become a new leaf, or a
// chain of nodes where the tree remembers different things of them.
//
// Heaps and counters are not in order until touchPath has walked the path: a new
// node counts as evictable and is in no heap.
func (t *Tree) extend(cur nodeIndex, in *messages.PrefixInsert, at int) (end nodeIndex) {
	hashes := t.hashNew(cur, in, at)
	usage, last := t.newUsage(in, at, at, hashes)
	for from := at; from < len(in.Pages); {
		to, next := last, Usage{}
		for to < len(in.Pages) {
			if next, last = t.newUsage(in, at, to, hashes); t.endsPrompt(in, to) || !t.leaves.alike(&usage, &next) {
				break
			}
			to = last
		}
		tokens, pages := in.Tokens[from*t.pageSize:to*t.pageSize], in.Pages[from:to]
		if !t.endsPrompt(in, from) && t.growable(cur, in, &usage) {
			// fit gives unused room back when the request unlocks the leaf.
			n := t.nodes.at(cur)
			t.unused -= n.unused()
			n.grow(tokens, pages)
			t.unused += n.unused()
			t.protected += len(pages)
		} else {
			cur = t.addLeaf(cur, tokens, pages, usage)
		}
		if hashes != nil {
			t.hashes.nodes[cur] = append(t.hashes.nodes[cur], hashes[from-at:to-at]...)
		}
		from, usage = to, next
	}
	return cur
}

// hashNew computes the hashes of an insertion's pages from index at on, which
// go below cur, and records the event. Nil without events and history.
func (t *Tree) hashNew(cur nodeIndex, in *messages.PrefixInsert, at int) []uint64 {
	if t.hashes == nil {
		return nil
	}
	parent := RootHash(in.Namespace)
	if t.nodes.at(cur).parent != none {
		parent = t.hashes.last(cur)
	}
	tokens := in.Tokens[at*t.pageSize:]
	hashes := t.hashes.chain(parent, tokens)
	t.events.stored(in.Namespace, parent, at == 0, hashes, tokens)
	return hashes
}

// newUsage returns the usage of new pages [from, to): to the end of the insertion, unless
// the history has different usages. hashes are those of the pages from index base on.
func (t *Tree) newUsage(in *messages.PrefixInsert, base, from int, hashes []uint64) (u Usage, to int) {
	u = Usage{Created: t.tick, Hits: 1, Priority: in.Priority, Depth: int32(from)}
	to = len(in.Pages)
	if from < to-1 && t.endsPrompt(in, to-1) {
		to--
	}
	if t.history != nil {
		before := t.history.recall(hashes[from-base])
		end := to
		for to = from + 1; to < end && t.history.peek(hashes[to-base]) == before; to++ {
			t.history.recall(hashes[to-base])
		}
		u.LastUse, u.Note = before.lastUse, before.note
		u.Hits += before.hits
	}
	if t.learner != nil {
		t.learner.Added(&u, t.tick, to-from)
	}
	u.LastUse = t.tick
	return u, to
}

// endsPrompt reports whether a page is the last that a request brings, which under
// a Learner becomes a node of its own.
func (t *Tree) endsPrompt(in *messages.PrefixInsert, page int) bool {
	return t.learner != nil && !in.Keep && page == len(in.Pages)-1
}

// growable reports whether new pages with usage u may go onto the end of cur.
func (t *Tree) growable(cur nodeIndex, in *messages.PrefixInsert, u *Usage) bool {
	n := t.nodes.at(cur)
	if in.Node == messages.RootNode || n.children != 0 || n.locks != 1 || t.nodes.id(cur) != in.Node&^counted {
		return false
	}
	old := n.usage // as it will be after this insertion
	t.use(&old, in.Node&counted == 0, in.Priority)
	return t.leaves.alike(&old, u)
}

// use records in u that a request went through.
func (t *Tree) use(u *Usage, hit bool, priority int32) {
	if hit && u.Hits < math.MaxUint32 {
		u.Hits++
	}
	u.LastUse = t.tick
	u.Priority = max(u.Priority, priority)
}

// addLeaf makes a node below cur. tokens and pages are copied.
func (t *Tree) addLeaf(cur nodeIndex, tokens []int32, pages []messages.Page, u Usage) nodeIndex {
	leaf := t.nodes.take()
	l := t.nodes.at(leaf)
	l.tokens, l.pages, l.parent, l.usage = fitted(tokens), newPageList(pages), cur, u
	t.link(leaf)
	t.count++
	t.evictable += len(pages)
	t.nodes.at(cur).children++
	if t.hashes != nil {
		t.hashes.set(leaf, nil)
	}
	return leaf
}
