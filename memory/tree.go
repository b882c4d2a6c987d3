package memory

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// TreeOptions configure a Tree.
type TreeOptions struct {
	// PageSize is the number of tokens in a page: a power of two, 1 allowed.
	PageSize int
	// Policy chooses what is evicted; nil means LRU.
	Policy Policy
	// HashSeed is mixed into the child table's hash, so that nobody outside
	// can prepare tokens that collide. Results never depend on it.
	HashSeed uint64
}

// Tree is a radix tree from token sequences to the pages that hold their KV.
// Its unit is the page: nodes begin and end at page borders, and children are
// told apart by their whole first page. Namespaces are trees of their own,
// which share no node whatever their tokens.
//
// A handle (messages.NodeID) locks a node and all nodes above it against
// eviction, once per handle. It stays good until it is unlocked, also across
// splits: the part with the deeper tokens keeps it.
//
// Invariants:
//
//  1. A node other than a namespace's root has at least one page and
//     PageSize tokens per page. A page is on one node only.
//  2. A node's children differ in their first page, and the child table finds
//     each of them.
//  3. A node's locks are the handles on it plus its children's locks. So all
//     below an unlocked node is unlocked.
//  4. evictable is the number of pages on unlocked nodes, protected that on
//     locked ones.
//  5. The leaf heap holds exactly the unlocked nodes without children, in the
//     policy's order. With 3, eviction can reach every evictable page.
//  6. A node was used no later than its parent.
//  7. A namespace has a root exactly while it has a page.
//  8. At most 1/16 of an unlocked node's arrays is unused, beyond the rounding
//     of the memory allocator. No array is shared between nodes or with callers.
//
// Costs: Lock, Peek and Insert are linear in the tokens compared (the copies
// of splits amortised), Unlock in the nodes of the path, Evict takes a
// logarithm of the number of leaves per freed node. None depends on how much
// is cached. Not safe for concurrent use.
type Tree struct {
	pageSize int
	policy   Policy
	nodes    slab
	table    childTable
	roots    map[string]slot
	names    map[slot]string // of roots
	leaves   leafHeap
	tick     uint64
	count    int // nodes without the roots

	evictable, protected int // pages
}

// NewTree returns an empty tree.
func NewTree(opts TreeOptions) *Tree {
	checkPageSize(opts.PageSize)
	if opts.Policy == nil {
		opts.Policy = LRU{}
	}
	return &Tree{
		pageSize: opts.PageSize,
		policy:   opts.Policy,
		table:    childTable{seed: opts.HashSeed},
		roots:    map[string]slot{},
		names:    map[slot]string{},
	}
}

// Evictable is the number of pages on unlocked nodes.
func (t *Tree) Evictable() int { return t.evictable }

// Protected is the number of pages on locked nodes.
func (t *Tree) Protected() int { return t.protected }

// Nodes is the number of nodes.
func (t *Tree) Nodes() int { return t.count }

// PageSize is the number of tokens in a page.
func (t *Tree) PageSize() int { return t.pageSize }

// Peek returns how many leading tokens are cached, a whole number of pages. It
// changes nothing and promises nothing: only a Lock binds.
func (t *Tree) Peek(namespace string, tokens []int32) int {
	cur, matched := t.roots[namespace], 0
	for cur != none {
		child, k := t.next(cur, tokens[matched:])
		matched += k * t.pageSize
		if child == none || k < len(t.nodes.at(child).pages) {
			break
		}
		cur = child
	}
	return matched
}

// Lock finds the longest cached prefix of tokens[:limit], in whole pages,
// locks it and returns its handle with a fresh slice of its pages. When
// nothing matches it returns RootNode and nil, and there is nothing to unlock.
func (t *Tree) Lock(namespace string, tokens []int32, limit int) (messages.NodeID, []messages.Page) {
	if limit < 0 || limit > len(tokens) {
		invariants.Fail("match limit %d of %d tokens", limit, len(tokens))
	}
	root := t.roots[namespace]
	if root == none {
		return messages.RootNode, nil
	}
	cur, tokens := root, tokens[:limit]
	depth := 0
	for {
		child, k := t.next(cur, tokens)
		if child == none {
			break
		}
		depth += k
		if k < len(t.nodes.at(child).pages) {
			cur = t.split(child, k)
			break
		}
		cur, tokens = child, tokens[k*t.pageSize:]
	}
	if cur == root {
		return messages.RootNode, nil
	}
	t.tick++
	t.lockPath(cur)
	return t.nodes.id(cur), t.pathPages(cur, depth)
}

// pathPages returns the depth pages from the root to the end of a node.
func (t *Tree) pathPages(i slot, depth int) []messages.Page {
	pages := make([]messages.Page, depth)
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(n.parent) {
		depth -= len(n.pages)
		copy(pages[depth:], n.pages)
	}
	return pages
}

// Unlock gives one lock back. RootNode is ignored. The handle is void then.
func (t *Tree) Unlock(id messages.NodeID) {
	if id != messages.RootNode {
		t.unlockPath(t.locked(id))
	}
}

// locked returns the node of a handle that its holder says it has locked.
func (t *Tree) locked(id messages.NodeID) slot {
	i := t.nodes.lookup(id)
	if i == none || t.nodes.at(i).locks == 0 {
		invariants.Fail("node %#x is not locked", uint64(id))
	}
	return i
}

// next finds the child of cur that tokens lead to and how many whole pages of
// it they match: none and 0, or at least one.
func (t *Tree) next(cur slot, tokens []int32) (child slot, pages int) {
	if len(tokens) < t.pageSize {
		return none, 0
	}
	child = t.find(cur, tokens[:t.pageSize])
	if child == none {
		return none, 0
	}
	return child, commonTokens(t.nodes.at(child).tokens, tokens) / t.pageSize
}

// split cuts a node after its first k pages and returns the new upper part.
// The lower part stays the same node, with its handles and children.
func (t *Tree) split(i slot, k int) slot {
	up := t.nodes.take()
	n, u := t.nodes.at(i), t.nodes.at(up)
	t.unlink(i)
	// The upper part gets its own memory: as much as was compared to get here.
	u.tokens, u.pages = slices.Clone(n.tokens[:k*t.pageSize]), slices.Clone(n.pages[:k])
	u.usage, u.parent, u.locks, u.children = n.usage, n.parent, n.locks, 1
	n.drop(k, t.pageSize)
	n.parent = up
	t.link(up)
	t.link(i)
	t.count++
	return up
}

// lockPath locks and touches a node and those above it.
func (t *Tree) lockPath(i slot) {
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(i) {
		if n.heapAt != 0 {
			t.leaves.remove(t, i)
		}
		t.policy.Touch(&n.usage, t.tick)
		if n.locks == 0 {
			t.evictable -= len(n.pages)
			t.protected += len(n.pages)
		}
		n.locks++
		i = n.parent
	}
}

// unlockPath gives one lock of a node and those above it back.
func (t *Tree) unlockPath(i slot) {
	for n := t.nodes.at(i); n.parent != none; n = t.nodes.at(i) {
		n.locks--
		if n.locks == 0 {
			t.evictable += len(n.pages)
			t.protected -= len(n.pages)
			if n.roomy {
				n.fit()
			}
			if n.children == 0 {
				t.leaves.push(t, i)
			}
		}
		i = n.parent
	}
}
