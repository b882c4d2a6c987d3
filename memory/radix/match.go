package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// Peek returns how many leading tokens are cached, a whole number of pages. It changes
// nothing, and what it found may be evicted at once: only Lock prevents that.
func (t *Tree) Peek(namespace string, tokens []int32) int {
	_, _, _, matched := t.match(t.roots[namespace], tokens)
	return matched
}

// PeekPath is Peek that also returns the ids of the matching nodes, at most most of
// them, from the top down and without the root. A node that matches in part is
// included: a Lock would split it. The ids are names only: nothing is locked.
func (t *Tree) PeekPath(namespace string, tokens []int32, most int) (matched int, path []messages.NodeID) {
	i, part, _, matched := t.match(t.roots[namespace], tokens)
	if part != none {
		i = part
	}
	for ; i != none && t.nodes.at(i).parent != none; i = t.nodes.at(i).parent {
		path = append(path, t.nodes.id(i))
	}
	slices.Reverse(path)
	return matched, path[:min(len(path), most)]
}

// match follows tokens down from cur, which may be none. It returns the last node that
// they match whole, the child of it that they match in part with the number of its
// pages, none and 0 if there is no such child, and how many tokens match in all.
func (t *Tree) match(cur nodeIndex, tokens []int32) (whole, part nodeIndex, pages, matched int) {
	for cur != none {
		child, k := t.next(cur, tokens[matched:])
		if child == none {
			break
		}
		matched += k * t.pageSize
		if k < t.nodes.at(child).pages.len() {
			return cur, child, k, matched
		}
		cur = child
	}
	return cur, none, 0, matched
}

// next finds the child of cur that tokens continue with, and how many of its
// pages they match: at least one, or none and 0.
func (t *Tree) next(cur nodeIndex, tokens []int32) (child nodeIndex, pages int) {
	if len(tokens) < t.pageSize {
		return none, 0
	}
	child = t.find(cur, tokens[:t.pageSize])
	if child == none {
		return none, 0
	}
	n := t.nodes.at(child)
	same := t.pageSize + paging.CommonPrefix(n.tokens[t.pageSize:], tokens[t.pageSize:])
	t.work.nodeVisits++
	t.work.wordsCompared += same
	return child, same / t.pageSize
}
