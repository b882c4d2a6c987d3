package radix

// leaves holds the unlocked leaves of a tree in the order of eviction: one order
// per class of a Learner, a single one for other policies.
//
// An order has two parts. Leaves that come with a rank above all others, such as the
// latest use, form a sorted list, in which adding, removing and evicting cost O(1). The
// others are in a heap, at O(log) each: parents that became leaves, and most leaves
// under policies that do not rank by time. The next victim is the lesser of both firsts.
type leaves struct {
	nodes         *slab
	policy        Policy
	learner       Learner // nil for a plain policy
	orders        []leafOrder
	least, newest []*Usage // reused by next

	compared int // ranks, since the start
}

type leafOrder struct {
	first, last nodeIndex // of the list
	heap        leafHeap
	count       int
}

func newLeaves(policy Policy, nodes *slab) leaves {
	l := leaves{nodes: nodes, policy: policy, orders: make([]leafOrder, 1)}
	if learner, ok := policy.(Learner); ok {
		n := learner.Classes()
		l.learner, l.orders = learner, make([]leafOrder, n)
		l.least, l.newest = make([]*Usage, n), make([]*Usage, n)
	}
	return l
}

// alike reports whether the policy treats pages of a and b the same.
func (l *leaves) alike(a, b *Usage) bool {
	return l.policy.Rank(a) == l.policy.Rank(b) && a.Note == b.Note && l.class(a) == l.class(b)
}

func (l *leaves) has(i nodeIndex) bool { return l.nodes.at(i).place.heap != 0 }

func (l *leaves) class(u *Usage) int {
	if l.learner == nil {
		return 0
	}
	return l.learner.Class(u)
}

func (l *leaves) len() int {
	n := 0
	for i := range l.orders {
		n += l.orders[i].count
	}
	return n
}

func (l *leaves) entry(i nodeIndex) leafEntry {
	rank := l.policy.Rank(&l.nodes.at(i).usage)
	return leafEntry{rank.Minor, rank.Major, i}
}

// push adds a leaf according to its usage, which must not change until remove.
func (l *leaves) push(i nodeIndex) {
	o := &l.orders[l.class(&l.nodes.at(i).usage)]
	o.count++
	e := l.entry(i)
	if o.last != none {
		last := l.entry(o.last)
		l.compared++
		if e.before(&last) {
			o.heap = append(o.heap, e)
			l.up(o.heap, len(o.heap)-1, e)
			return
		}
		l.nodes.at(o.last).place.next = i
	} else {
		o.first = i
	}
	l.nodes.at(i).place = leafPlace{heap: inList, prev: o.last}
	o.last = i
}

func (l *leaves) remove(i nodeIndex) {
	o := &l.orders[l.class(&l.nodes.at(i).usage)]
	o.count--
	p := l.nodes.at(i).place
	l.nodes.at(i).place = leafPlace{}
	if p.heap != inList {
		o.heap = l.cut(o.heap, int(p.heap)-1)
		return
	}
	if p.prev == none {
		o.first = p.next
	} else {
		l.nodes.at(p.prev).place.next = p.next
	}
	if p.next == none {
		o.last = p.prev
	} else {
		l.nodes.at(p.next).place.prev = p.prev
	}
}

// head is the least leaf of an order, none if it is empty.
func (l *leaves) head(o *leafOrder) nodeIndex {
	if len(o.heap) == 0 {
		return o.first
	}
	if o.first != none {
		first := l.entry(o.first)
		l.compared++
		if first.before(&o.heap[0]) {
			return o.first
		}
	}
	return o.heap[0].node
}

// next is the leaf to evict at the tick now. There must be one.
func (l *leaves) next(now uint64) nodeIndex {
	if l.learner == nil {
		return l.head(&l.orders[0])
	}
	for class := range l.orders {
		o := &l.orders[class]
		l.least[class], l.newest[class] = l.usage(l.head(o)), l.usage(o.last)
	}
	class, takeNewest := l.learner.Choose(now, l.least, l.newest)
	if takeNewest {
		return l.orders[class].last
	}
	return l.head(&l.orders[class])
}

// usage is that of a node, nil of none.
func (l *leaves) usage(i nodeIndex) *Usage {
	if i == none {
		return nil
	}
	return &l.nodes.at(i).usage
}
