package memory

// leaves holds the unlocked leaves of a tree in the order of eviction: one heap
// per class of the policy, one in all for a plain policy. Each leaf knows its
// place, so any of them can be taken out.
type leaves struct {
	policy  Policy
	chooser Chooser // nil for a plain policy
	heaps   []leafHeap
	heads   []*Usage // reused by choose
	places  []int32  // by slot of the node: 1 + index in its heap; 0 when in none

	compared int // ranks, since the start
}

// leafHeap is a min-heap with four children per entry: half as deep as a binary
// one, and the children lie side by side in one cache line's worth of memory.
// The ranks stand in it, so that nodes are not looked at.
type leafHeap []leafEntry

type leafEntry struct {
	minor uint64 // the leaf's Rank, in an order that leaves no gaps
	major uint32
	node  slot
}

func (e *leafEntry) before(o *leafEntry) bool {
	return e.major < o.major || e.major == o.major && e.minor < o.minor
}

const heapWidth = 4

func newLeaves(policy Policy) leaves {
	l := leaves{policy: policy, heaps: make([]leafHeap, 1)}
	if c, ok := policy.(Chooser); ok {
		l.chooser = c
		l.heaps, l.heads = make([]leafHeap, c.Classes()), make([]*Usage, c.Classes())
	}
	return l
}

// alike reports whether the policy treats pages of a and b the same.
func (l *leaves) alike(a, b *Usage) bool {
	return l.policy.Rank(a) == l.policy.Rank(b) && a.Note == b.Note &&
		(l.chooser == nil || l.chooser.Class(a) == l.chooser.Class(b))
}

func (l *leaves) has(i slot) bool { return int(i) < len(l.places) && l.places[i] != 0 }

// class sorts a leaf into its heap.
func (l *leaves) class(u *Usage) int {
	if l.chooser == nil {
		return 0
	}
	return l.chooser.Class(u)
}

func (l *leaves) len() int {
	n := 0
	for _, h := range l.heaps {
		n += len(h)
	}
	return n
}

// push puts a leaf where its usage says, which must not change until remove.
func (l *leaves) push(i slot, u *Usage) {
	for int(i) >= len(l.places) {
		l.places = append(l.places, 0)
	}
	rank, class := l.policy.Rank(u), l.class(u)
	e := leafEntry{rank.Minor, rank.Major, i}
	h := append(l.heaps[class], e)
	l.heaps[class] = h
	l.up(h, len(h)-1, e)
}

// remove takes a leaf out.
func (l *leaves) remove(i slot, u *Usage) {
	class := l.class(u)
	h := l.heaps[class]
	at, last := int(l.places[i])-1, len(h)-1
	moved := h[last]
	h = h[:last]
	l.heaps[class] = h
	l.places[i] = 0
	switch {
	case at == last:
	case at > 0 && moved.before(&h[(at-1)/heapWidth]):
		l.up(h, at, moved)
	default:
		l.down(h, at, moved)
	}
}

// next is the leaf to evict at the tick now. There must be one.
func (l *leaves) next(t *slab, now uint64) slot {
	if l.chooser == nil {
		return l.heaps[0][0].node
	}
	for class, h := range l.heaps {
		l.heads[class] = nil
		if len(h) > 0 {
			l.heads[class] = &t.at(h[0].node).usage
		}
	}
	return l.heaps[l.chooser.Choose(now, l.heads)][0].node
}

// up moves the hole at an index towards the root until e fits into it.
func (l *leaves) up(h leafHeap, at int, e leafEntry) {
	for at > 0 {
		parent := (at - 1) / heapWidth
		l.compared++
		if !e.before(&h[parent]) {
			break
		}
		h[at] = h[parent]
		l.places[h[at].node] = int32(at + 1)
		at = parent
	}
	h[at] = e
	l.places[e.node] = int32(at + 1)
}

// down moves the hole at an index away from the root until e fits into it.
func (l *leaves) down(h leafHeap, at int, e leafEntry) {
	for {
		first := heapWidth*at + 1
		if first >= len(h) {
			break
		}
		least, end := first, min(first+heapWidth, len(h))
		l.compared += end - first
		for c := first + 1; c < end; c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[at] = h[least]
		l.places[h[at].node] = int32(at + 1)
		at = least
	}
	h[at] = e
	l.places[e.node] = int32(at + 1)
}
