package radix

import "math/bits"

// childTable finds a node by its parent and its first page of tokens: one hash
// table for the whole tree, so that a node with one child costs as little as a
// node with a hundred thousand is fast. It grows by linear hashing, one bucket
// at a time, so that no insertion pays for moving all the others. Nothing
// depends on the order within a bucket.
type childTable struct {
	heads []nodeIndex
	count int
	seed  uint64
}

// hash mixes a parent's index with a page of tokens.
func (c *childTable) hash(parent nodeIndex, page []int32) uint32 {
	h := mixTokens(c.seed^0x9e3779b97f4a7c15*uint64(uint32(parent)), page)
	return uint32(h ^ h>>32)
}

// bucket addresses the buckets [0, n) by the lowest bits of a hash: as many as
// n needs, one less for the buckets that are not there yet.
func (c *childTable) bucket(hash uint32) uint32 {
	n := uint32(len(c.heads))
	mask := uint32(1)<<bits.Len32(n-1) - 1
	if b := hash & mask; b < n {
		return b
	}
	return hash & (mask >> 1)
}

// find returns parent's child whose tokens begin with page, or none.
func (t *Tree) find(parent nodeIndex, page []int32) nodeIndex {
	if t.nodes.at(parent).children == 0 {
		return none
	}
	h := t.table.hash(parent, page)
	for i := t.table.heads[t.table.bucket(h)]; i != none; {
		n := t.nodes.at(i)
		if n.hash == h && n.parent == parent && commonTokens(n.tokens[:t.pageSize], page) == t.pageSize {
			return i
		}
		i = n.chain
	}
	return none
}

// link puts a node, with its parent and tokens set, into the table.
func (t *Tree) link(i nodeIndex) {
	c := &t.table
	if c.count >= len(c.heads) {
		t.addBucket()
	}
	n := t.nodes.at(i)
	n.hash = c.hash(n.parent, n.tokens[:t.pageSize])
	b := c.bucket(n.hash)
	n.chain, c.heads[b] = c.heads[b], i
	c.count++
}

// unlink takes a node out of the table, before its parent or tokens change.
func (t *Tree) unlink(i nodeIndex) {
	n := t.nodes.at(i)
	at := &t.table.heads[t.table.bucket(n.hash)]
	for *at != i {
		at = &t.nodes.at(*at).chain
	}
	*at = n.chain
	n.chain = none
	t.table.count--
}

// addBucket adds bucket n and moves to it those nodes of the bucket that stood
// in for it whose hash says so.
func (t *Tree) addBucket() {
	c := &t.table
	n := uint32(len(c.heads))
	c.heads = append(c.heads, none)
	if n == 0 {
		return
	}
	from := n - uint32(1)<<(bits.Len32(n)-1)
	i := c.heads[from]
	c.heads[from] = none
	for i != none {
		nd := t.nodes.at(i)
		next := nd.chain
		b := c.bucket(nd.hash)
		nd.chain, c.heads[b] = c.heads[b], i
		i = next
	}
}

// commonTokens is the length of the longest common prefix of a and b.
func commonTokens(a, b []int32) int {
	const block = 16
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+block <= n; i += block {
		// Arrays compare as one piece of memory.
		if *(*[block]int32)(a[i:]) != *(*[block]int32)(b[i:]) {
			break
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}
