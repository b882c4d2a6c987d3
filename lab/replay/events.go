package replay

import (
	"container/heap"
	"time"
)

// event is something that happens to an engine: a step of its device is over,
// or with due a timer of a core.
type event struct {
	at     time.Duration
	order  uint64 // of scheduling; of two events at one time the earlier first
	engine *engine
	due    envelope
}

// agenda is the events to come, as a heap.
type agenda []event

func (a agenda) Len() int      { return len(a) }
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a *agenda) Push(x any) { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = event{}
	*a = (*a)[:last]
	return e
}

func (w *world) schedule(e event) {
	w.scheduled++
	e.order = w.scheduled
	heap.Push(&w.agenda, e)
}
