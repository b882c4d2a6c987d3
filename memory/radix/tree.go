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

// Tree is a radix tree from token sequences to the pages that hold their KV.
// Its unit is the page: nodes begin and end at page borders, and children are
// told apart by their whole first page. Each namespace is a tree of its own:
// namespaces share no nodes, even for equal tokens.
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
//  8. At most 1/16 of a node's arrays is unused in front. Behind, locked nodes have
//     room to grow, and eviction leaves at least 1/8 of an unlocked one's in use. The
//     memory allocator's own rounding comes on top. A page list takes at most 4 bytes
//     per page. No array is shared between nodes or with callers.
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
	tick     uint64
	count    int // nodes without the roots
	work     work

	evictable, protected int // pages
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

// Unlock releases a lock whose holder did not use what it protects, such as a
// candidate that does not fit yet. The handle becomes invalid. RootNode is
// ignored. Unless an insertion has counted the holder, the path becomes as recent
// as by an insertion, but this does not count as a hit.
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

// split cuts a node after its first k pages and returns the new upper part.
// The lower part stays the same node, with its handles and children.
func (t *Tree) split(i nodeIndex, k int) nodeIndex {
	up := t.nodes.take()
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
	if n.wasteful() {
		t.fit(i)
	}
	return up
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

// fit moves a node's data to arrays of the right size.
func (t *Tree) fit(i nodeIndex) {
	t.nodes.at(i).fit()
	if t.hashes != nil {
		t.hashes.fit(i)
	}
}
