package queue

import "github.com/troupe-engine/troupe/internal/invariants"

// ordered is a binary heap whose elements know their places, so that any of
// them can leave or change rank.
//
// Invariants: items[i] is not less than items[(i-1)/2], and place(items[i]) is
// i+1; an element outside has place 0. push, remove and fix take O(log n), a
// walk over the first k elements O(k log k).
type ordered[E any] struct {
	items []E
	less  func(a, b E) bool // a strict total order
	place func(E) *int32
}

func (o *ordered[E]) len() int { return len(o.items) }

// first is the least element; there must be one.
func (o *ordered[E]) first() E { return o.items[0] }

// front is the least element, the zero value when there is none.
func (o *ordered[E]) front() (e E) {
	if len(o.items) > 0 {
		e = o.items[0]
	}
	return e
}

func (o *ordered[E]) push(e E) {
	invariants.Check(*o.place(e) == 0, "an element enters a heap twice")
	o.items = append(o.items, e)
	o.up(len(o.items)-1, e)
}

func (o *ordered[E]) remove(e E) {
	i, last := int(*o.place(e))-1, len(o.items)-1
	invariants.Check(i >= 0 && i <= last, "an element leaves a heap in which it is not")
	*o.place(e) = 0
	moved := o.items[last]
	var zero E
	o.items[last] = zero
	o.items = o.items[:last]
	if i < last {
		o.settle(i, moved)
	}
}

// fix restores the order after an element's rank has changed.
func (o *ordered[E]) fix(e E) { o.settle(int(*o.place(e))-1, e) }

// settle puts e at place i or where it belongs from there.
func (o *ordered[E]) settle(i int, e E) {
	if i > 0 && o.less(e, o.items[(i-1)/2]) {
		o.up(i, e)
		return
	}
	for n := len(o.items); ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && o.less(o.items[right], o.items[child]) {
			child = right
		}
		if !o.less(o.items[child], e) {
			break
		}
		o.put(i, o.items[child])
		i = child
	}
	o.put(i, e)
}

func (o *ordered[E]) up(i int, e E) {
	for i > 0 && o.less(e, o.items[(i-1)/2]) {
		o.put(i, o.items[(i-1)/2])
		i = (i - 1) / 2
	}
	o.put(i, e)
}

func (o *ordered[E]) put(i int, e E) {
	o.items[i] = e
	*o.place(e) = int32(i + 1)
}

// walk visits a heap in order without changing it: the next element is always
// the least of those whose parent has been visited. The heap must not change
// meanwhile.
type walk[E any] struct {
	of    *ordered[E]
	front []int32 // a heap of indices by their elements
}

// start begins anew, in the memory of the last walk.
func (w *walk[E]) start(of *ordered[E]) {
	w.of, w.front = of, w.front[:0]
	w.visit(0)
}

// next returns the next element, false behind the last one.
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

// take appends the next n elements, or all that are left.
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
