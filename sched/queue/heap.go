package queue

import "github.com/troupe-engine/troupe/internal/invariants"

// heap is a binary heap whose elements store their own position, so that any
// element can be removed or moved after its rank has changed.
//
// Invariants: items[i] is not less than items[(i-1)/2], and *pos(items[i]) is
// i+1; outside the heap it is 0. push, remove and fix take O(log n), a walk over
// the first k elements O(k log k).
type heap[E any] struct {
	items []E
	less  func(a, b E) bool // a strict total order
	pos   func(E) *int32
}

func (h *heap[E]) len() int { return len(h.items) }

// first is the least element. The heap must not be empty.
func (h *heap[E]) first() E { return h.items[0] }

// front is the least element, or the zero value if the heap is empty.
func (h *heap[E]) front() (e E) {
	if len(h.items) > 0 {
		e = h.items[0]
	}
	return e
}

func (h *heap[E]) push(e E) {
	invariants.Check(*h.pos(e) == 0, "an element is pushed onto a heap twice")
	h.items = append(h.items, e)
	h.up(len(h.items)-1, e)
}

func (h *heap[E]) remove(e E) {
	i, last := int(*h.pos(e))-1, len(h.items)-1
	invariants.Check(i >= 0 && i <= last, "an element is removed from a heap that does not hold it")
	*h.pos(e) = 0
	moved := h.items[last]
	var zero E
	h.items[last] = zero
	h.items = h.items[:last]
	if i < last {
		h.sift(i, moved)
	}
}

// fix restores the order after an element's rank has changed.
func (h *heap[E]) fix(e E) { h.sift(int(*h.pos(e))-1, e) }

// sift fills the gap at position i and puts e at its place above or below it.
func (h *heap[E]) sift(i int, e E) {
	if i > 0 && h.less(e, h.items[(i-1)/2]) {
		h.up(i, e)
		return
	}
	for n := len(h.items); ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], e) {
			break
		}
		h.put(i, h.items[child])
		i = child
	}
	h.put(i, e)
}

func (h *heap[E]) up(i int, e E) {
	for i > 0 && h.less(e, h.items[(i-1)/2]) {
		h.put(i, h.items[(i-1)/2])
		i = (i - 1) / 2
	}
	h.put(i, e)
}

func (h *heap[E]) put(i int, e E) {
	h.items[i] = e
	*h.pos(e) = int32(i + 1)
}

// walk visits a heap in order without changing it: the next element is always the least
// one whose parent was visited. The heap must not change during the walk.
type walk[E any] struct {
	of    *heap[E]
	front []int32 // heap of indices, ordered by their elements
}

func (w *walk[E]) start(of *heap[E]) {
	w.of, w.front = of, w.front[:0]
	w.visit(0)
}

func (w *walk[E]) next() (e E, ok bool) {
	if len(w.front) == 0 {
		return e, false
	}
	i, last := w.front[0], len(w.front)-1
	moved := w.front[last]
	w.front = w.front[:last]
	for at := 0; last > 0; {
		child := 2*at + 1
		if child+1 < last && w.before(w.front[child+1], w.front[child]) {
			child++
		}
		if child >= last || !w.before(w.front[child], moved) {
			w.front[at] = moved
			break
		}
		w.front[at] = w.front[child]
		at = child
	}
	w.visit(2*i + 1)
	w.visit(2*i + 2)
	return w.of.items[i], true
}

// take appends the next n elements, or all that remain.
func (w *walk[E]) take(dst []E, n int) []E {
	for ; n > 0; n-- {
		e, ok := w.next()
		if !ok {
			break
		}
		dst = append(dst, e)
	}
	return dst
}

func (w *walk[E]) visit(i int32) {
	if int(i) >= len(w.of.items) {
		return
	}
	w.front = append(w.front, i)
	at := len(w.front) - 1
	for at > 0 && w.before(i, w.front[(at-1)/2]) {
		w.front[at] = w.front[(at-1)/2]
		at = (at - 1) / 2
	}
	w.front[at] = i
}

func (w *walk[E]) before(i, j int32) bool { return w.of.less(w.of.items[i], w.of.items[j]) }
