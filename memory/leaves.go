package memory

// leaves holds the unlocked leaves of a tree in the order of eviction, one
// order per class of the policy, one in all for a plain policy.
//
// An order has two parts. Most leaves come with a rank above all others: the
// youngest by last use, say. They make a list, in order, and cost O(1) to add,
// take out and evict. The others stand in a heap, and cost O(log) each: parents
// that became leaves, and all of policies that do not go by the youngest. What
// is evicted is the lesser of the list's first and the heap's first.
type leaves struct {
	nodes   *slab
	policy  Policy
	chooser Chooser // nil for a plain policy
	orders  []leafOrder
	ends    DoubleEnded // nil for a policy that weighs one end only
	heads   []*Usage    // reused by next
	latest  []*Usage    // reused by next
	places  []leafPlace // by slot of the node

	compared int // ranks, since the start
}

type leafOrder struct {
	first, last slot // of the list
	heap        leafHeap
	count       int
}

// leafPlace is where a leaf waits.
type leafPlace struct {
	heap       int32 // 1 + index in the heap, inList, or 0 when in neither
	prev, next slot  // in the list
}

const inList = -1

func newLeaves(policy Policy, nodes *slab) leaves {
	l := leaves{nodes: nodes, policy: policy, orders: make([]leafOrder, 1)}
	if c, ok := policy.(Chooser); ok {
		l.chooser = c
		l.orders, l.heads = make([]leafOrder, c.Classes()), make([]*Usage, c.Classes())
		if l.ends, ok = policy.(DoubleEnded); ok {
			l.latest = make([]*Usage, c.Classes())
		}
	}
	return l
}

// alike reports whether the policy treats pages of a and b the same.
func (l *leaves) alike(a, b *Usage) bool {
	return l.policy.Rank(a) == l.policy.Rank(b) && a.Note == b.Note && l.class(a) == l.class(b)
}

func (l *leaves) has(i slot) bool { return int(i) < len(l.places) && l.places[i].heap != 0 }

// class sorts a leaf into its order.
func (l *leaves) class(u *Usage) int {
	if l.chooser == nil {
		return 0
	}
	return l.chooser.Class(u)
}

func (l *leaves) len() int {
	n := 0
	for i := range l.orders {
		n += l.orders[i].count
	}
	return n
}

func (l *leaves) entry(i slot) leafEntry {
	rank := l.policy.Rank(&l.nodes.at(i).usage)
	return leafEntry{rank.Minor, rank.Major, i}
}

// push puts a leaf where its usage says, which must not change until remove.
func (l *leaves) push(i slot) {
	for int(i) >= len(l.places) {
		l.places = append(l.places, leafPlace{})
	}
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
		l.places[o.last].next = i
	} else {
		o.first = i
	}
	l.places[i] = leafPlace{heap: inList, prev: o.last}
	o.last = i
}

// remove takes a leaf out.
func (l *leaves) remove(i slot) {
	o := &l.orders[l.class(&l.nodes.at(i).usage)]
	o.count--
	p := l.places[i]
	l.places[i] = leafPlace{}
	if p.heap != inList {
		o.heap = l.cut(o.heap, int(p.heap)-1)
		return
	}
	if p.prev == none {
		o.first = p.next
	} else {
		l.places[p.prev].next = p.next
	}
	if p.next == none {
		o.last = p.prev
	} else {
		l.places[p.next].prev = p.prev
	}
}

// head is the least leaf of an order, none when there is none.
func (l *leaves) head(o *leafOrder) slot {
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
func (l *leaves) next(now uint64) slot {
	if l.chooser == nil {
		return l.head(&l.orders[0])
	}
	for class := range l.orders {
		l.heads[class] = nil
		if i := l.head(&l.orders[class]); i != none {
			l.heads[class] = &l.nodes.at(i).usage
		}
	}
	if l.ends != nil {
		return l.nextEnd(now)
	}
	return l.head(&l.orders[l.chooser.Choose(now, l.heads)])
}

// nextEnd is next for a policy that weighs both ends of each class.
func (l *leaves) nextEnd(now uint64) slot {
	for class := range l.orders {
		l.latest[class] = nil
		if i := l.orders[class].last; i != none {
			l.latest[class] = &l.nodes.at(i).usage
		}
	}
	class, last := l.ends.ChooseEnd(now, l.heads, l.latest)
	if last {
		return l.orders[class].last
	}
	return l.head(&l.orders[class])
}
