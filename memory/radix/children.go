package radix

import "github.com/troupe-engine/troupe/internal/paging"

// childKey finds a node by its parent and a hash of its first page of tokens. One
// map serves the whole tree, so that a node with one child costs as little as a
// node with a hundred thousand is fast. Nodes of equal keys are chained.
//
// A Go map grows in small steps: the worst of a million insertions into the tree
// takes 0.3 ms. docs/decisions/0023 has the table that it replaced.
type childKey struct {
	parent nodeIndex
	hash   uint32
}

// children maps each key to the first node of its chain. Nothing depends on its order.
type children struct {
	first map[childKey]nodeIndex
	seed  uint64
}

func (c *children) key(parent nodeIndex, page []int32) childKey {
	h := mixTokens(c.seed, page)
	return childKey{parent, uint32(h ^ h>>32)}
}

// find returns parent's child whose tokens begin with page, or none.
func (t *Tree) find(parent nodeIndex, page []int32) nodeIndex {
	if t.nodes.at(parent).children == 0 {
		return none
	}
	for i := t.children.first[t.children.key(parent, page)]; i != none; {
		n := t.nodes.at(i)
		if paging.CommonPrefix(n.tokens[:t.pageSize], page) == t.pageSize {
			return i
		}
		i = n.chain
	}
	return none
}

// link puts a node, with its parent and tokens set, among the children.
func (t *Tree) link(i nodeIndex) {
	n := t.nodes.at(i)
	key := t.children.key(n.parent, n.tokens[:t.pageSize])
	n.hash, n.chain = key.hash, t.children.first[key]
	t.children.first[key] = i
}

// unlink takes a node out, before its parent or tokens change.
func (t *Tree) unlink(i nodeIndex) {
	n := t.nodes.at(i)
	key := childKey{n.parent, n.hash}
	switch first := t.children.first[key]; {
	case first != i:
		for t.nodes.at(first).chain != i {
			first = t.nodes.at(first).chain
		}
		t.nodes.at(first).chain = n.chain
	case n.chain != none:
		t.children.first[key] = n.chain
	default:
		delete(t.children.first, key)
	}
	n.chain = none
}
