package queue

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// maxDepth is how deep dfsWeight looks into the tree: prompts that part below
// it count as one. It bounds what a change costs, since a conversation may add
// a node with each turn.
const maxDepth = 64

// dfsWeight offers by the tree of cached prefixes, depth first: below each node
// the child with the most waiting requests at or below it first, then the
// node's own requests by arrival. Requests that use one part of the cache then
// run together, and the part that most of them want goes first. The order is
// that of SGLang's dfs-weight; equal weights go by the smaller NodeID.
//
// The tree is a mirror of those nodes that hints have named and that requests
// wait at. The cache splits nodes, so a node may get another parent; the latest
// hint counts. A node never becomes an ancestor of one that was above it, so
// no cycle can arise.
//
// A change costs O(depth log n), an offer of k O(k (log n + depth)), with a depth
// of at most maxDepth.
type dfsWeight struct {
	fresh newcomers
	root  *branch
	byID  map[messages.NodeID]*branch
	walks []walk[*branch] // by depth
	own   walk[*waiter]
	asked []*waiter
}

// branch is a node of the cache with waiting requests at or below it.
type branch struct {
	id       messages.NodeID
	parent   *branch // nil for the root
	place    int32   // in the parent's children
	weight   int     // requests at or below it, >= 1 except for the root
	children ordered[*branch]
	own      ordered[*waiter] // whose cached prefix ends here
}

func newBranch(id messages.NodeID, parent *branch) *branch {
	return &branch{id: id, parent: parent, own: newOrder(earlier), children: ordered[*branch]{
		place: func(b *branch) *int32 { return &b.place },
		less: func(a, b *branch) bool {
			if a.weight != b.weight {
				return a.weight > b.weight
			}
			return a.id < b.id
		},
	}}
}

func newDFSWeight() *dfsWeight {
	p := &dfsWeight{root: newBranch(messages.RootNode, nil), byID: map[messages.NodeID]*branch{}}
	p.fresh.init()
	return p
}

func (p *dfsWeight) pathNodes() int { return maxDepth }

func (p *dfsWeight) add(w *waiter) { p.fresh.push(w) }

func (p *dfsWeight) remove(w *waiter, _ bool) {
	if b := w.branch; b != nil {
		w.branch = nil
		b.own.remove(w)
		p.weigh(b, -1)
		return
	}
	p.fresh.remove(w)
}

// weigh adds to the weights of a branch and those above it, and forgets those
// at which nobody waits any more.
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
	if w.branch == b {
		return
	}
	p.move(w, b)
}

// move puts a request at another branch. The new one gains first, so that no
// branch that both share is forgotten meanwhile.
func (p *dfsWeight) move(w *waiter, to *branch) {
	from := w.branch
	p.weigh(to, 1)
	if from == nil {
		p.fresh.remove(w)
	} else {
		from.own.remove(w)
		p.weigh(from, -1)
	}
	w.branch = to
	to.own.push(w)
}

// follow returns the branch at the end of a path, whose nodes may be new or
// have new parents. New branches have no weight yet, and are not known before
// they have.
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

func (p *dfsWeight) ask(dst []messages.PrefixPeek, n int) []messages.PrefixPeek {
	dst = p.fresh.ask(dst)
	if n == 0 {
		return dst
	}
	p.asked = p.head(p.asked[:0], n, 0)
	for _, w := range p.asked {
		dst = append(dst, w.peek())
	}
	clear(p.asked)
	return dst
}
