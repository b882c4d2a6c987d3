package radix

// leafHeap is a min-heap with four children per entry: half as deep as a binary one, and
// siblings share a cache line. Entries contain the ranks, so comparing does not touch
// nodes. Each leaf knows its index (leafPlace.heap), so that any of them can be removed.
type leafHeap []leafEntry

// leafEntry is a leaf with its Rank; the order of fields avoids padding.
type leafEntry struct {
	minor uint64
	major uint32
	node  nodeIndex
}

func (e *leafEntry) before(o *leafEntry) bool {
	return e.major < o.major || e.major == o.major && e.minor < o.minor
}

const heapWidth = 4

func (l *leaves) cut(h leafHeap, at int) leafHeap {
	last := len(h) - 1
	moved := h[last]
	h = h[:last]
	switch {
	case at == last:
	case at > 0 && moved.before(&h[(at-1)/heapWidth]):
		l.up(h, at, moved)
	default:
		l.down(h, at, moved)
	}
	return h
}

// up moves the hole at an index towards the root until e fits into it.
func (l *leaves) up(h leafHeap, at int, e leafEntry) {
	for at > 0 {
		parent := (at - 1) / heapWidth
		l.compared++
		if !e.before(&h[parent]) {
			break
		}
		l.put(h, at, h[parent])
		at = parent
	}
	l.put(h, at, e)
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
		l.put(h, at, h[least])
		at = least
	}
	l.put(h, at, e)
}

func (l *leaves) put(h leafHeap, at int, e leafEntry) {
	h[at] = e
	l.nodes.at(e.node).place.heap = int32(at + 1)
}
