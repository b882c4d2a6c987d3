package queue

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// maxDepth is how deep dfsWeight follows the tree, to which a conversation may add a node
// per turn. It bounds the cost of a change: prompts that diverge below it count as equal.
const maxDepth = 64

// dfsWeight offers requests depth first through the tree of cached prefixes, as SGLang's
// dfs-weight does. Below each node, the child with the most waiting requests in its
// subtree comes first, of equals the smaller NodeID, then the node's own requests by
// arrival. So requests that use the same part of the cache run together.
//
// The tree mirrors the nodes that hints have named and at which requests wait. The cache
// splits nodes, so a node may get another parent; the latest hint counts. A node never
// becomes an ancestor of one that was above it, so no cycle can arise.
//
// A change costs O(depth log n), an offer of k O(k (log n + depth)); depth <= maxDepth.
type dfsWeight struct {
	fresh list // requests without a hint, by arrival; not offered yet
	root  *branch
	byID  map[messages.NodeID]*branch
	walks []walk[*branch] // by depth
	own   walk[*waiter]
}

// branch is a node of the cache with waiting requests in its subtree.
type branch struct {
	id       messages.NodeID
	parent   *branch // nil for the root
	pos      int32   // in the parent's children
	weight   int     // requests in the subtree, >= 1 except for the root
	children heap[*branch]
	own      heap[*waiter] // requests whose cached prefix ends here
}

func newBranch(id messages.NodeID, parent *branch) *branch {
	return &branch{id: id, parent: parent, own: newOrder(earlier), children: heap[*branch]{
		pos: func(b *branch) *int32 { return &b.pos },
		less: func(a, b *branch) bool {
			if a.weight != b.weight {
				return a.weight > b.weight
			}
			return a.id < b.id
		},
	}}
}

func newDFSWeight() *dfsWeight {
	return &dfsWeight{fresh: list{heap: newOrder(earlier)}, root: newBranch(messages.RootNode, nil), byID: map[messages.NodeID]*branch{}}
}

func (p *dfsWeight) pathNodes() int { return maxDepth }

func (p *dfsWeight) add(w *waiter) { p.fresh.push(w) }

// branchOf is the end of a request's cached prefix, nil for a newcomer.
func branchOf(w *waiter) *branch {
	b, _ := w.state.(*branch)
	return b
}

func (p *dfsWeight) remove(w *waiter, _ bool) {
	if b := branchOf(w); b != nil {
		w.state = nil
		b.own.remove(w)
		p.weigh(b, -1)
		return
	}
	p.fresh.remove(w)
}

// weigh changes the weights of a branch and its ancestors, and forgets those of zero.
func (p *dfsWeight) weigh(b *branch, by int) {
	for ; b.parent != nil; b = b.parent {
		b.weight += by
		switch {
		case b.weight == 0:
			b.parent.children.remove(b)
			delete(p.byID, b.id)
		case b.weight == by:
			b.parent.children.push(b)
			p.byID[b.id] = b
		default:
			b.parent.children.fix(b)
		}
	}
	b.weight += by
}

func (p *dfsWeight) learn(w *waiter, found *messages.PrefixPeeked) {
	if w == nil {
		return
	}
	b := p.follow(found.Path)
	if branchOf(w) == b {
		return
	}
	p.move(w, b)
}

// move puts a request at another branch. The new branch gains weight first, so
// that no common ancestor is forgotten in between.
func (p *dfsWeight) move(w *waiter, to *branch) {
	from := branchOf(w)
	p.weigh(to, 1)
	if from == nil {
		p.fresh.remove(w)
	} else {
		from.own.remove(w)
		p.weigh(from, -1)
	}
	w.state = to
	to.own.push(w)
}

// follow returns the branch at the end of a path, whose nodes may be new or have
// new parents. A new branch enters the tree when it gets its first weight.
func (p *dfsWeight) follow(path []messages.NodeID) *branch {
	cur := p.root
	for _, id := range path {
		b := p.byID[id]
		switch {
		case b == nil:
			b = newBranch(id, cur)
		case b.parent != cur:
			weight := b.weight
			p.weigh(b, -weight)
			b.parent = cur
			p.weigh(b, weight)
		}
		cur = b
	}
	return cur
}

func (p *dfsWeight) front() *waiter {
	for b := p.root; ; b = b.children.first() {
		if b.children.len() == 0 {
			return b.own.front()
		}
	}
}

func (p *dfsWeight) head(dst []*waiter, n int, _ time.Duration) []*waiter {
	return p.descend(dst, p.root, 0, len(dst)+n)
}

// descend appends the requests at and below a branch until dst is full.
func (p *dfsWeight) descend(dst []*waiter, b *branch, depth, full int) []*waiter {
	if depth == len(p.walks) {
		p.walks = append(p.walks, walk[*branch]{})
	}
	p.walks[depth].start(&b.children)
	for len(dst) < full {
		child, ok := p.walks[depth].next()
		if !ok {
			break
		}
		dst = p.descend(dst, child, depth+1, full)
	}
	p.own.start(&b.own)
	return p.own.take(dst, full-len(dst))
}

func (p *dfsWeight) ask(dst []*waiter, n int) []*waiter {
	return p.head(p.fresh.take(dst, maxPeeks), n, 0)
}
