package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

type TreeOptions struct {
	// PageSize is the number of tokens in a page: a power of two, 1 allowed.
	PageSize int
	// Policy chooses what is evicted; nil means LRU.
	Policy Policy
	// History is the number of evicted pages whose Usage is remembered, the
	// latest ones, so that Hits survive an eviction; 0 for none. About 60 bytes
	// each, and 8 bytes per cached page and 24 per node for hashes.
	History int
	// Events makes the tree record what it stores and removes, by page hash (TakeEvents).
	// Costs 8 bytes per cached page, 24 per node and a SHA-256 over each new page.
	Events bool
	// HashSeed is mixed into the hash of children, so that a user cannot
	// prepare tokens that collide. Results never depend on it.
	HashSeed uint64
}

// Tree is a radix tree from token sequences to the pages that hold their KV. Its unit is
// the page: nodes begin and end at page borders, and children differ in their whole first
// page. Each namespace is a tree of its own: they share no nodes, even for equal tokens.
//
// A handle (messages.NodeID) locks a node and all nodes above it against
// eviction, once per handle. It stays valid until it is unlocked, also across
// splits: the part with the deeper tokens keeps it. A handle also says whether
// its holder has been counted as a hit. Lock returns one that has not; the first
// Insert, or UnlockUsed at the end, counts the path. So a request is one hit, even
// if it is matched several times before it is admitted and inserted in chunks.
//
// Invariants:
//
//  1. A node other than a namespace's root has at least one page and
//     PageSize tokens per page. A page is on one node only.
//  2. A node's children differ in their first page, and find finds each of them.
//  3. A node's locks are the handles on it plus its children's locks. So
//     everything below an unlocked node is unlocked.
//  4. evictable is the number of pages on unlocked nodes, protected that on locked ones.
//  5. leaves holds exactly the unlocked nodes without children, in the policy's
//     order. With 3, eviction can reach every evictable page.
//  6. A node's last use is not later than its parent's.
//  7. A namespace has a root exactly while it has a page.
//  8. At most 1/16 of a node's arrays is unused in front. unused counts what is unused
//     behind: room for locked nodes to grow, and what evictions left of others. While it
//     is more than 1/16 of what the cache holds, a leaf that is shortened keeps at least
//     half in use. The memory allocator's own rounding comes on top. A page list takes at most 4
//     bytes per page. No array is shared between nodes or with callers.
//  9. A node's Depth is the pages above it.
//  10. With hashes, a node has the hash of each of its pages.
//
// Costs: Lock, Peek and Insert are linear in the tokens compared (the copies
// of splits amortised), Unlock in the nodes of the path. Evict takes at most the
// logarithm of the number of leaves per evicted node. Nothing depends on the size
// of the cache. Not safe for concurrent use.
type Tree struct {
	pageSize int
	learner  Learner    // the policy, if it is one
	path     []PathNode // reused by touchPath
	nodes    slab
	children children
	roots    map[string]nodeIndex
	names    map[nodeIndex]string // of roots
	leaves   leaves
	hashes   *pageHashes // nil without events and history
	history  *history    // nil without
	events   *eventLog   // nil without
	listed   nodeIndex   // of a list that is being made: nodes up to here are in it; 0: none
	tick     uint64
	count    int // nodes without the roots
	work     work

	evictable, protected int // pages
	unused               int // tokens behind the arrays of all nodes
}

// work counts what the tree has done so far. It does not depend on how much is cached.
type work struct {
	nodeVisits    int // nodes that matches, insertions and unlocks went through
	wordsCompared int // tokens of nodes that were compared with tokens of callers
}

func NewTree(opts TreeOptions) *Tree {
	if err := paging.CheckSize(opts.PageSize); err != nil {
		invariants.Fail("page size %v", err)
	}
	if opts.Policy == nil {
		opts.Policy = LRU{}
	}
	t := &Tree{
		pageSize: opts.PageSize,
		children: children{first: map[childKey]nodeIndex{}, seed: opts.HashSeed},
		roots:    map[string]nodeIndex{},
		names:    map[nodeIndex]string{},
	}
	t.leaves = newLeaves(opts.Policy, &t.nodes)
	t.learner = t.leaves.learner
	if opts.Events {
		t.events = &eventLog{pageSize: opts.PageSize}
	}
	if opts.History > 0 {
		t.history = newHistory(opts.History)
	}
	switch {
	case opts.Events:
		t.hashes = &pageHashes{pageSize: opts.PageSize, next: PageHash}
	case opts.History > 0:
		t.hashes = &pageHashes{pageSize: opts.PageSize, next: mixTokens}
	}
	return t
}

func (t *Tree) Evictable() int { return t.evictable }

func (t *Tree) Protected() int { return t.protected }

func (t *Tree) Nodes() int { return t.count }

func (t *Tree) PageSize() int { return t.pageSize }

// TakeEvents returns what was stored and removed since the last call, in order.
// It belongs to the caller. Nil without TreeOptions.Events.
func (t *Tree) TakeEvents() []messages.CacheEvent {
	if t.events == nil {
		return nil
	}
	list := t.events.list
	t.events.list = nil
	return list
}

// split cuts a node after its first k pages and returns the new upper part.
// The lower part stays the same node, with its handles and children.
func (t *Tree) split(i nodeIndex, k int) nodeIndex {
	up := t.takeUpper(i)
	n, u := t.nodes.at(i), t.nodes.at(up)
	t.unlink(i)
	// The upper part gets its own memory: no more than was compared to get here.
	u.tokens, u.pages = fitted(n.tokens[:k*t.pageSize]), n.pages.first(k)
	u.usage, u.parent, u.locks, u.children = n.usage, n.parent, n.locks, 1
	n.tokens = n.tokens[k*t.pageSize:]
	n.pages.cutFirst(k)
	n.parent = up
	n.usage.Depth += int32(k)
	t.link(up)
	t.link(i)
	t.count++
	if t.hashes != nil {
		t.hashes.split(i, up, k)
	}
	if n.slack() {
		t.fit(i)
	}
	return up
}

// takeUpper returns an empty node for the upper part of node i, whose pages a list that is
// being made must not miss.
func (t *Tree) takeUpper(i nodeIndex) nodeIndex {
	if t.nodes.free != none && t.nodes.free <= t.listed && i > t.listed {
		return t.nodes.takeTop()
	}
	return t.nodes.take()
}

// fit moves a node's data to arrays of the right size: splits and cuts left some unused.
func (t *Tree) fit(i nodeIndex) {
	n := t.nodes.at(i)
	t.unused -= n.unused()
	n.tokens = fitted(n.tokens)
	n.pages.fit()
	if t.hashes != nil {
		t.hashes.nodes[i] = slices.Clone(t.hashes.nodes[i])
	}
}
